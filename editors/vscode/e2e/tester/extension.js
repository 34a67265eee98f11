// An extension of the browser tests: a test of `mean`, which it runs with Python, and a problem while that test fails.
const { execFile } = require("node:child_process");
const { Diagnostic, Location, Range, TestMessage, TestRunProfileKind, Uri, languages, tests, workspace } = require("vscode");

const PROGRAM = "from averages import mean; mean([])";

exports.activate = ({ subscriptions }) => {
  const folder = workspace.workspaceFolders?.[0]?.uri;
  if (folder === undefined) return;
  const file = Uri.joinPath(folder, "averages.py");
  const line = new Range(0, 0, 0, 3);
  const controller = tests.createTestController("tester", "Tester");
  const problems = languages.createDiagnosticCollection("tester");
  const item = controller.createTestItem("mean", "mean of nothing", file);
  item.range = line;
  controller.items.add(item);
  controller.createRunProfile("Run", TestRunProfileKind.Run, async (request) => {
    const run = controller.createTestRun(request);
    run.started(item);
    const error = await errorOf(folder.fsPath);
    if (error === null) {
      problems.clear();
      run.passed(item);
    } else {
      const problem = new Diagnostic(line, `the test "mean of nothing" fails: ${error}`);
      problem.source = "tester";
      problems.set(file, [problem]);
      const message = new TestMessage(error);
      message.location = new Location(file, line);
      run.failed(item, message);
    }
    run.end();
  }, true);
  subscriptions.push(controller, problems);
};

/** Run the test in a folder; return the last line of what it says when it fails, null when it passes. */
function errorOf(folder) {
  return new Promise((resolve) => {
    execFile("python3", ["-B", "-c", PROGRAM], { cwd: folder }, (error, output, errors) => {
      resolve(error === null ? null : (errors.trim().split("\n").at(-1) ?? error.message));
    });
  });
}
