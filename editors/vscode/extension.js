// Starts `ferrule-lint server` for Python files. Everything else is the language server's.
"use strict";

const { window, workspace } = require("vscode");
const { LanguageClient, TransportKind } = require("vscode-languageclient/node");

let client;

async function start() {
  const [command, ...args] = workspace.getConfiguration("ferrule-lint").get("command");
  const server = { command, args, transport: TransportKind.stdio };
  const documents = { documentSelector: [{ scheme: "file", language: "python" }] };
  client = new LanguageClient("ferrule-lint", "ferrule-lint", server, documents);
  try {
    await client.start();
  } catch (error) {
    client = undefined;
    window.showErrorMessage(`ferrule-lint: ${command} could not be started: ${error.message ?? error}`);
  }
}

async function stop() {
  const running = client;
  client = undefined;
  await running?.stop();
}

exports.activate = async (context) => {
  const changed = workspace.onDidChangeConfiguration(async (event) => {
    if (event.affectsConfiguration("ferrule-lint")) {
      await stop();
      await start();
    }
  });
  context.subscriptions.push(changed);
  await start();
};

exports.deactivate = stop;
