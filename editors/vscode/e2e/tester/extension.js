// An extension of the browser tests: a test that fails, and a problem in the same file.
const { Diagnostic, Location, Range, TestMessage, TestRunProfileKind, Uri, languages, tests, workspace } = require("vscode");

exports.activate = ({ subscriptions }) => {
  const folder = workspace.workspaceFolders?.[0]?.uri;
  if (folder === undefined) return;
  const file = Uri.joinPath(folder, "averages.py");
  const line = new Range(0, 0, 0, 3);
  const controller = tests.createTestController("tester", "Tester");
  const item = controller.createTestItem("mean", "mean of nothing", file);
  item.range = line;
  controller.items.add(item);
  controller.createRunProfile("Run", TestRunProfileKind.Run, (request) => {
    const run = controller.createTestRun(request);
    const message = new TestMessage("expected 2 but was 3");
    message.location = new Location(file, line);
    run.started(item);
    run.failed(item, message);
    run.end();
  }, true);
  const problems = languages.createDiagnosticCollection("tester");
  const problem = new Diagnostic(line, "mean of nothing divides by zero");
  problem.source = "tester";
  problems.set(file, [problem]);
  subscriptions.push(controller, problems);
};
