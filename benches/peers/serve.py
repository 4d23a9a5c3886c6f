"""sentence-transformers behind FastAPI, as people put it there: POST /embed {"inputs": text or list}.

usage: serve.py MODEL PORT THREADS
"""
import os
import sys

model_directory, port, threads = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
os.environ["HF_HUB_OFFLINE"] = "1"

import torch  # noqa: E402
import uvicorn  # noqa: E402
from fastapi import FastAPI  # noqa: E402
from pydantic import BaseModel  # noqa: E402
from sentence_transformers import SentenceTransformer  # noqa: E402

torch.set_num_threads(threads)
model = SentenceTransformer(model_directory, device="cpu")
app = FastAPI()


class Embed(BaseModel):
    inputs: str | list[str]


# Not async: FastAPI calls it on a thread of its pool, so that requests do not wait for each other's reading.
@app.post("/embed")
def embed(request: Embed) -> list[list[float]]:
    texts = [request.inputs] if isinstance(request.inputs, str) else request.inputs
    return model.encode(texts, show_progress_bar=False).tolist()


uvicorn.run(app, host="127.0.0.1", port=port, log_level="warning")
