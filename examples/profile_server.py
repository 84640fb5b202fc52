# SPDX-License-Identifier: Apache-2.0
"""Profiles a server on request, as vLLM's does: POST /start_profile and POST /stop_profile. The server carries the agent:
eval "$(aiflame env)" && python3 server.py"""
import http.server
import threading

import aiflame


class Handler(http.server.BaseHTTPRequestHandler):
    profile = aiflame.profile("server.data", on_trace_ready=lambda p: p.flame("server.svg"))

    def do_POST(self):
        action = {"/start_profile": self.profile.start, "/stop_profile": self.profile.stop}.get(self.path)
        if action:
            action()
        self.send_response(200 if action else 404)
        self.end_headers()


def serve(port):
    server = http.server.HTTPServer(("127.0.0.1", port), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server
