"""The recipes of docs/editors.md, tried in the editors where they are installed."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pipeline import project

import ferrule_lint

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "editors.md"
VSCODE = ROOT / "editors" / "vscode"
if not PAGE.exists() or not VSCODE.exists():
    pytest.skip("not a checkout", allow_module_level=True)

SOURCE = "import torch.distributed as dist\n\n\ndef f(x):\n    if dist.get_rank() == 0:\n        dist.all_reduce(x)\n"


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """`ferrule-lint` on the path, and an empty home."""
    folder = tmp_path / "bin"
    folder.mkdir()
    command = folder / "ferrule-lint"
    command.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m ferrule_lint "$@"\n')
    command.chmod(0o755)
    package = str(Path(ferrule_lint.__file__).parent.parent)
    return {
        **os.environ,
        "HOME": str(tmp_path),
        "XDG_STATE_HOME": str(tmp_path / "state"),
        "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join(filter(None, [package, os.environ.get("PYTHONPATH")])),
    }


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)


# ---------------------------------------------------------------------- Neovim
#: waits for diagnostics, asks for a hover and for quick fixes, applies the one that suppresses
DRIVER = """
local wait = 30000
vim.wait(wait, function() return #vim.diagnostic.get(0) > 0 end, 100)
local out = { diagnostics = {}, titles = {} }
for _, one in ipairs(vim.diagnostic.get(0)) do
  table.insert(out.diagnostics, { one.code, one.lnum, one.col, one.source })
end
local params = {
  textDocument = vim.lsp.util.make_text_document_params(0),
  position = { line = 4, character = 9 },
}
for _, answer in pairs(vim.lsp.buf_request_sync(0, "textDocument/hover", params, wait) or {}) do
  out.hover = answer.result.contents.value
end
local place = { line = 5, character = 10 }
params = {
  textDocument = params.textDocument,
  range = { start = place, ["end"] = place },
  context = { diagnostics = {} },
}
for _, answer in pairs(vim.lsp.buf_request_sync(0, "textDocument/codeAction", params, wait) or {}) do
  for _, action in ipairs(answer.result) do
    table.insert(out.titles, action.title)
    if action.title:find("suppress") then
      vim.lsp.util.apply_workspace_edit(action.edit, "utf-16")
    end
  end
end
out.text = vim.api.nvim_buf_get_lines(0, 5, 6, false)[1]
vim.wait(wait, function() return #vim.diagnostic.get(0) == 0 end, 100)
out.left = #vim.diagnostic.get(0)
vim.fn.writefile({ vim.json.encode(out) }, "out.json")
vim.cmd("qa!")
"""


def neovim(least: tuple[int, int]) -> str:
    """The editor, if it is there and new enough."""
    pytest.importorskip("pygls", reason="pygls is in the extra `lsp`")
    command = shutil.which("nvim")
    if command is None:
        pytest.skip("Neovim is not installed")
    first = subprocess.run([command, "--version"], capture_output=True, encoding="utf-8", check=True).stdout
    version = re.search(r"NVIM v(\d+)\.(\d+)", first)
    assert version is not None, first
    if (int(version[1]), int(version[2])) < least:
        pytest.skip(f"this Neovim is {version[0]}, the recipe is for {least[0]}.{least[1]} and newer")
    return command


@pytest.mark.parametrize(("number", "least"), [(0, (0, 11)), (1, (0, 8))])
def test_neovim(tmp_path: Path, environment: dict[str, str], number: int, least: tuple[int, int]) -> None:
    command = neovim(least)
    root = project(tmp_path / "work", {"main.py": SOURCE, "init.lua": blocks("lua")[number], "driver.lua": DRIVER})
    line = [command, "--headless", "-i", "NONE", "-n", "-u", "init.lua", "main.py", "-c", "luafile driver.lua"]
    done = subprocess.run(
        line, cwd=root, env=environment, capture_output=True, encoding="utf-8", timeout=150, check=False
    )
    assert (root / "out.json").exists(), done.stdout + done.stderr
    out = json.loads((root / "out.json").read_text("utf-8"))
    assert out["diagnostics"] == [["FER102", 5, 8, "ferrule-lint"]]
    assert "**divergent**" in out["hover"]
    assert "ferrule-lint: suppress FER102 here" in out["titles"]
    assert out["text"] == "        dist.all_reduce(x)  # ferrule: ignore[FER102]"
    assert out["left"] == 0


# ---------------------------------------------------------------------- VS Code
#: `vscode` and its client library, as far as the extension uses them: the client starts the server and says hello
STUBS = {
    "node_modules/vscode/index.js": """
const handlers = [];
exports.shown = [];
exports.command = ["ferrule-lint", "server"];
exports.workspace = {
  getConfiguration: (section) => ({
    get: (name) => (`${section}.${name}` === "ferrule-lint.command" ? exports.command : undefined),
  }),
  onDidChangeConfiguration: (handler) => { handlers.push(handler); return { dispose() {} }; },
};
exports.window = { showErrorMessage: (text) => exports.shown.push(text) };
exports.change = async () => {
  for (const handler of handlers) await handler({ affectsConfiguration: (name) => name === "ferrule-lint" });
};
""",
    "node_modules/vscode-languageclient/node.js": """
const { spawn } = require("child_process");
exports.TransportKind = { stdio: 0 };
exports.clients = [];
exports.LanguageClient = class {
  constructor(id, name, server, documents) {
    Object.assign(this, { id, server, documents });
    exports.clients.push(this);
  }
  start() {
    return new Promise((resolve, reject) => {
      this.process = spawn(this.server.command, this.server.args, { stdio: ["pipe", "pipe", "inherit"] });
      this.process.on("error", reject);
      const text = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize",
        params: { processId: process.pid, rootUri: null, capabilities: {} } });
      this.process.stdin.write(`Content-Length: ${Buffer.byteLength(text)}\\r\\n\\r\\n${text}`);
      let answer = "";
      this.process.stdout.on("data", (data) => {
        answer += data;
        const body = answer.split("\\r\\n\\r\\n")[1];
        try { this.capabilities = JSON.parse(body).result.capabilities; resolve(); } catch { /* not all of it yet */ }
      });
    });
  }
  async stop() { this.process.kill(); }
};
""",
    "driver.js": """
const vscode = require("vscode");
const { clients } = require("vscode-languageclient/node");
const extension = require("./extension.js");
(async () => {
  const context = { subscriptions: [] };
  await extension.activate(context);
  const first = clients[0];
  await vscode.change();
  const restarted = clients.length === 2 && first.process.killed;
  await extension.deactivate();
  vscode.command = ["no-such-command"];
  await vscode.change();
  console.log(JSON.stringify({ selector: first.documents.documentSelector, capabilities: first.capabilities, restarted,
    stopped: clients[1].process.killed, subscriptions: context.subscriptions.length, shown: vscode.shown }));
})();
""",
}


def test_the_vscode_extension_starts_the_server(tmp_path: Path, environment: dict[str, str]) -> None:
    """With stand-ins for VS Code, which is not to be had here; the server is the real one."""
    pytest.importorskip("pygls", reason="pygls is in the extra `lsp`")
    node = shutil.which("node")
    if node is None:
        pytest.skip("Node.js is not installed")
    root = project(tmp_path / "work", {**STUBS, "extension.js": (VSCODE / "extension.js").read_text("utf-8")})
    done = subprocess.run(
        [node, "driver.js"], cwd=root, env=environment, capture_output=True, encoding="utf-8", timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    out: dict[str, Any] = json.loads(done.stdout)
    assert out["selector"] == [{"scheme": "file", "language": "python"}]
    assert out["capabilities"]["hoverProvider"]
    assert out["capabilities"]["codeActionProvider"]
    assert (out["restarted"], out["stopped"], out["subscriptions"]) == (True, True, 1)
    (message,) = out["shown"]
    assert message.startswith("ferrule-lint: no-such-command could not be started")


def test_the_vscode_manifest() -> None:
    manifest = json.loads((VSCODE / "package.json").read_text("utf-8"))
    setting = manifest["contributes"]["configuration"]["properties"]["ferrule-lint.command"]
    assert setting["default"] == ["ferrule-lint", "server"]
    assert (VSCODE / manifest["main"]).is_file()
    assert manifest["version"] == ferrule_lint.__version__
    assert f"ferrule-lint-{manifest['version']}.vsix" in PAGE.read_text("utf-8")


def test_the_problem_matcher_reads_our_lines(tmp_path: Path, environment: dict[str, str]) -> None:
    (text,) = blocks("json")
    task = json.loads(text)["tasks"][0]
    pattern = task["problemMatcher"]["pattern"]
    root = project(tmp_path / "work", {"main.py": SOURCE})
    done = subprocess.run(
        task["command"], shell=True, cwd=root, env=environment, capture_output=True, encoding="utf-8", check=False
    )
    match = re.match(pattern["regexp"], done.stdout)
    assert match is not None, done.stdout
    assert (match[pattern["file"]], match[pattern["line"]], match[pattern["code"]]) == ("main.py", "6", "FER102")
    assert match[pattern["message"]].startswith("`all_reduce` is reached by some ranks only")
