"""A run's results as Markdown."""

# The peer with which ours is compared.
COMPARED = "torch"


def table(header, rows):
    """Text columns are aligned left, numbers right."""
    lines = ["| " + " | ".join(header) + " |", "|" + "|".join("---" if name.islower() else "--:" for name in header) + "|"]
    return "\n".join([*lines, *("| " + " | ".join(map(str, row)) + " |" for row in rows)])


def sizes_of(figure):
    return figure["vectors"], figure["queries"], figure["k"]


def figures(report):
    """The searches side by side: milliseconds, the share of the floor that ours reaches, and how many times ours is as fast."""
    peers = list(dict.fromkeys(figure["peer"] for figure in report["figures"]))
    ours = [peer for peer in peers if peer.startswith("toller")]
    header = ["Vectors", "Queries", "K", *(f"{peer.capitalize()}, ms" for peer in peers),
              *(f"{peer.capitalize()} of floor" for peer in ours), *(f"{COMPARED.capitalize()} / {peer}" for peer in ours)]
    rows = []
    for sizes in dict.fromkeys(map(sizes_of, report["figures"])):
        of = {figure["peer"]: figure for figure in report["figures"] if sizes_of(figure) == sizes}
        times = [f"{of[peer]['seconds'] * 1e3:.2f}" if peer in of else "" for peer in peers]
        shares = [f"{100 * of[peer]['share_of_floor']:.0f}%" if peer in of else "" for peer in ours]
        ratios = [f"{of[COMPARED]['seconds'] / of[peer]['seconds']:.2f}" if peer in of and COMPARED in of else "" for peer in ours]
        rows.append([*(f"{size:,}" for size in sizes), *times, *shares, *ratios])
    return table(header, rows)


def kernels(report):
    rows = []
    for figure in report["figures"]:
        for kernel in figure.get("kernels", []):
            rows.append([*(f"{size:,}" for size in sizes_of(figure)), figure["peer"], kernel["kernel"].removeprefix("toller_ip_topk_"),
                         kernel["launches"], f"{kernel['seconds'] * 1e3:.3f}"])
    return table(["Vectors", "Queries", "K", "search", "kernel", "Launches", "Ms"], rows)


def alone(report):
    """The benchmarks of kernels/bench: a table for each set of columns."""
    tables = []
    for keys in dict.fromkeys(tuple(line) for line in report["alone"]):
        rows = [[f"{value:.4g}" if isinstance(value, float) else value for value in line.values()]
                for line in report["alone"] if tuple(line) == keys]
        tables.append(table(list(keys), rows))
    return "\n\n".join(tables)


def encode(report):
    """Tokens a second of texts of each length."""
    rows = [[figure["texts"], figure["peer"], *(f"{figure[key]:,.0f}" if figure.get(key) else "" for key in ["from_ids", "from_text"])]
            for figure in sorted(report["encode"], key=lambda figure: figure["texts"])]
    return table(["texts", "peer", "From ids, tokens/s", "From text, tokens/s"], rows)


def encode_kernels(report):
    """The time of each kernel in one pass, and its share."""
    rows = []
    for figure in report["encode"]:
        of_all = sum(kernel["seconds"] for kernel in figure.get("kernels", []))
        for kernel in figure.get("kernels", []):
            rows.append([figure["texts"], figure["peer"], kernel["kernel"].removeprefix("toller_encoder_"), kernel["launches"],
                         f"{kernel['seconds'] * 1e3:.3f}", f"{100 * kernel['seconds'] / of_all:.1f}"])
    return table(["texts", "peer", "kernel", "Launches", "Ms", "%"], rows)


def latency(report):
    """The latency of batches of queries."""
    rows = [[figure["peer"], figure["batch"], f"{figure['seconds']['p50'] * 1e3:.3f}", f"{figure['seconds']['p99'] * 1e3:.3f}",
             f"{figure['seconds_per_query'] * 1e3:.4f}"] for figure in report["latency"]]
    return table(["peer", "Queries", "P50, ms", "P99, ms", "Ms a query"], rows)


def markdown(report):
    steps = [[step["name"], step["outcome"], step["seconds"], " ".join((step["why"] or "").split()).replace("|", "/")]
             for step in report["steps"]]
    if report["running"]:
        steps.append([report["running"], "running", "", ""])
    parts = [("Steps", table(["step", "outcome", "Seconds", "why"], steps))]
    machine = [f"{title}{report[key].strip()}" for key, title in [("nvidia_smi", ""), ("cublas", "cuBLAS: ")] if report.get(key)]
    if machine:
        parts.insert(0, ("Machine", "\n".join(["```", *machine, "```"])))
    if report.get("figures"):
        parts += [("Searches", figures(report)), ("Kernels of one search", kernels(report))]
    if report.get("encode"):
        parts += [("Encoding", encode(report)), ("Kernels of one encoding", encode_kernels(report)),
                  ("Latency of queries of 16 tokens", latency(report))]
    if report.get("alone"):
        parts.append(("Kernels alone", alone(report)))
    if report["left_out"]:
        parts.append(("Left out", table(["what", "why"], [[entry["what"], entry["why"]] for entry in report["left_out"]])))
    return "\n\n".join(f"## {title}\n\n{text}" for title, text in parts) + "\n"


def finish(runner):
    """Prints the results; returns the exit status."""
    runner.finish()
    print((runner.output / "report.md").read_text())
    failures = runner.failures()
    for step in failures:
        print(f"{step['outcome']}: {step['name']}: {step['why']}")
    return 1 if failures else 0
