"""An inference server: a scripted model, a worker thread with its own stream, requests in batches."""
import http.client
import json
import queue
import tempfile
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import torch
import torch.nn as nn
from sklearn.datasets import load_digits


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(64, 32)
        self.out = nn.Linear(32, 10)
        self.register_buffer("bias", torch.zeros(10, device="cuda"))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if not x.is_cuda:
            x = x.to("cuda")
        scale = torch.full([1], 16.0, device=torch.device("cuda"))
        return self.out(torch.relu(self.hidden(x / scale))) + self.bias


def train_and_save(path):
    torch.manual_seed(0)
    images, labels = load_digits(return_X_y=True)
    images, labels = torch.tensor(images, dtype=torch.float32).cuda(), torch.tensor(labels).cuda()
    model = Classifier().cuda()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(60):
        loss = nn.functional.cross_entropy(model(images[:1500]), labels[:1500])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    torch.jit.script(model.eval()).save(str(path / "model.ts"))
    torch.save({"classes": torch.arange(10).cuda(), "loss": loss.detach()}, path / "meta.pt")


class Engine:
    """Answers requests in batches on its own thread and stream."""

    def __init__(self, path, device):
        self.device = torch.device(device)
        self.model = torch.jit.load(str(path / "model.ts"), map_location=self.device)
        self.model = torch.jit.freeze(self.model.eval())
        meta = torch.load(path / "meta.pt", map_location=lambda storage, location: storage.cuda(0))
        self.classes, self.loss = meta["classes"], meta["loss"].item()
        assert self.classes.is_cuda
        self.requests = queue.Queue()
        self.thread = threading.Thread(target=self.work, daemon=True)
        self.thread.start()

    def submit(self, pixels):
        future = Future()
        self.requests.put((pixels, future))
        return future

    def work(self):
        torch.cuda.set_device(self.device)
        stream = torch.cuda.Stream(device=self.device)
        while True:
            batch = [self.requests.get()]
            while not self.requests.empty() and len(batch) < 16:
                batch.append(self.requests.get_nowait())
            if batch[-1] is None:
                return
            inputs = torch.tensor([pixels for pixels, _ in batch], dtype=torch.float32).pin_memory()
            with torch.inference_mode(), torch.cuda.stream(stream):
                outputs = self.model(inputs.to(self.device, non_blocking=True))
                answers = self.classes[outputs.argmax(1)].to("cpu", non_blocking=True)
            stream.synchronize()
            for (_, future), answer in zip(batch, answers.tolist(), strict=True):
                future.set_result(answer)

    def stop(self):
        self.requests.put(None)
        self.thread.join()


def handler(engine):
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            free, total = torch.cuda.mem_get_info(engine.device)
            self.reply({"device": str(engine.device), "name": torch.cuda.get_device_name(engine.device),
                        "memory_used": total - free})

        def do_POST(self):
            pixels = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            self.reply({"digit": engine.submit(pixels).result()})

        def reply(self, content):
            body = json.dumps(content).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format, *args):
            pass

    return Handler


def ask(port, method, body=None):
    connection = http.client.HTTPConnection("127.0.0.1", port)
    connection.request(method, "/", body and json.dumps(body))
    answer = json.loads(connection.getresponse().read())
    connection.close()
    return answer


def main():
    with tempfile.TemporaryDirectory() as folder:
        train_and_save(Path(folder))
        engine = Engine(Path(folder), "cuda:0")
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler(engine))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    port = server.server_address[1]
    print(ask(port, "GET"))
    images, labels = load_digits(return_X_y=True)
    images, labels = images[1500:].tolist(), labels[1500:].tolist()
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda pixels: ask(port, "POST", pixels)["digit"], images))
    server.shutdown()
    server.server_close()
    engine.stop()
    correct = sum(answer == label for answer, label in zip(answers, labels, strict=True))
    print(json.dumps({"loss": engine.loss, "accuracy": 100 * correct / len(answers)}))


if __name__ == "__main__":
    main()
