"""Toller inside other packages, each in a module of its own: beir, haystack, ir_measures, langchain, llama_index,
mteb, pyterrier, ranx. A module imports its package when it is imported; `import toller` imports none.
"""
