"""Asks a server with unmodified clients; scripts/check-clients calls it with the server's address."""

import json
import os
import sys
import urllib.request

os.environ["OPENAI_API_KEY"] = os.environ["CO_API_KEY"] = "none"
ADDRESS = sys.argv[1]
TEXTS = ["A toller lures ducks.", "An inverted index lists documents.", ""]
QUERY = "who lures ducks?"


def post(path, body):
    request = urllib.request.Request(ADDRESS + path, json.dumps(body).encode(), {"Content-Type": "application/json"})
    return json.load(urllib.request.urlopen(request, timeout=60))


VECTORS = post("/embed", {"inputs": TEXTS})
SCORES = {hit["index"]: hit["score"] for hit in post("/rerank", {"query": QUERY, "texts": TEXTS})}


def single(vectors):
    """Vectors as 32-bit numbers, which some clients make 64-bit numbers of."""
    import numpy

    return numpy.asarray(vectors, dtype=numpy.float32).tolist()


def same(found, expected=VECTORS):
    assert single(found) == single(expected), (found, expected)


def openai():
    from openai import BadRequestError, NotFoundError, OpenAI

    client = OpenAI(base_url=f"{ADDRESS}/v1")
    for options in ({}, {"encoding_format": "float"}):
        same([entry.embedding for entry in client.embeddings.create(model="tiny-bert", input=TEXTS, **options).data])
    assert [model.id for model in client.models.list()][0] == "tiny-bert"
    for error, arguments in [(NotFoundError, ("none", TEXTS)), (BadRequestError, ("tiny-bert", [[1, 2, 3]])), (BadRequestError, ("tiny-bert", []))]:
        try:
            client.embeddings.create(model=arguments[0], input=arguments[1])
        except error:
            continue
        raise AssertionError(f"no {error.__name__}")


def cohere():
    from cohere import ClientV2

    found = ClientV2(base_url=ADDRESS).rerank(model="roberta", query=QUERY, documents=TEXTS, top_n=2)
    assert len(found.results) == 2
    for hit in found.results:
        assert abs(hit.relevance_score - SCORES[hit.index]) < 1e-6


def huggingface_hub():
    from huggingface_hub import InferenceClient

    same(InferenceClient(model=ADDRESS).feature_extraction(TEXTS))


def langchain():
    from langchain_openai import OpenAIEmbeddings

    found = OpenAIEmbeddings(model="tiny-bert", base_url=f"{ADDRESS}/v1", check_embedding_ctx_length=False)
    same(found.embed_documents(TEXTS[:2]), VECTORS[:2])


def haystack():
    from haystack import Document
    from haystack.components.embedders import HuggingFaceAPIDocumentEmbedder, HuggingFaceAPITextEmbedder
    from haystack.components.rankers import HuggingFaceTEIRanker
    from haystack.utils import Secret

    # Its default is `normalize: false`: vectors as they are before the model's last step.
    tei = {"api_type": "text_embeddings_inference", "api_params": {"url": ADDRESS}, "token": None, "normalize": True}
    same([HuggingFaceAPITextEmbedder(**tei).run(TEXTS[0])["embedding"]], VECTORS[:1])
    documents = [Document(content=text) for text in TEXTS[:2]]
    same([document.embedding for document in HuggingFaceAPIDocumentEmbedder(**tei).run(documents)["documents"]], VECTORS[:2])
    ranker = HuggingFaceTEIRanker(url=ADDRESS, top_k=2, token=Secret.from_token("none"))
    for document in ranker.run(query=QUERY, documents=documents)["documents"]:
        assert abs(document.score - SCORES[TEXTS.index(document.content)]) < 1e-6


for check in (openai, cohere, huggingface_hub, langchain, haystack):
    check()
    print(f"passed: {check.__name__}", flush=True)
