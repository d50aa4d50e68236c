"""A toy service on this machine. Any program that answers at the suite's `url` will do."""

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

WEATHER = {"Paris": "sunny", "London": "rainy"}


class Service(BaseHTTPRequestHandler):
    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["question"]
        found = next((f"It is {is_like} in {city}." for city, is_like in WEATHER.items() if city in asked), None)
        body = json.dumps({"reply": {"text": found or "I do not know that city."}}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", 8321), Service).serve_forever()
