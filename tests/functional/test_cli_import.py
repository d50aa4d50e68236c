"""`eval-harness import`: from a table or a suite in another format to a suite file that runs."""

from __future__ import annotations

import json
from pathlib import Path

from driving import drive, write

FIXTURES = Path(__file__).parents[1] / "fixtures" / "formats"
TABLE = "id,question,answer\n1,What is 2+2?,4\n2,{{Capital}} of France?,Paris\n"
MAPPING = ("--map", "id=id", "--map", "input=question", "--map", "expected=answer")


def test_a_table_becomes_a_suite_that_runs(tmp_path: Path) -> None:
    write(tmp_path, qa_csv=TABLE)
    done = drive(tmp_path, "import", "qa.csv", *MAPPING, "-o", "suite.yaml")
    assert done.code == 0, done.err
    assert done.out.splitlines() == [
        "wrote  suite.yaml: suite 'qa', 2 cases",
        "next   eval-harness run suite.yaml --target file.py:function",
    ]
    ran = drive(tmp_path, "run", "suite.yaml", "--target", "oracle", "--json")
    assert ran.states() == {"1": ["passed"], "2": ["passed"]}
    echoed = drive(tmp_path, "run", "suite.yaml", "--target", "echo", "--json")
    assert echoed.report["trials"][1]["output"] == "{{Capital}} of France?", "braces in a table are not variables"


def test_without_output_the_suite_is_printed(tmp_path: Path) -> None:
    write(tmp_path, qa_csv=TABLE)
    done = drive(tmp_path, "import", "qa.csv", *MAPPING, "--name", "sums", "--limit", "1")
    assert done.out == (
        'schema_version: "1.0"\nname: sums\ntest_cases:\n  - id: "1"\n    input: What is 2+2?\n    expected: "4"\n'
    )


def test_a_file_is_replaced_only_by_force(tmp_path: Path) -> None:
    write(tmp_path, qa_csv=TABLE, suite_yaml="mine")
    refused = drive(tmp_path, "import", "qa.csv", *MAPPING, "-o", "suite.yaml")
    assert refused.code == 2
    assert "--force" in refused.err
    assert (tmp_path / "suite.yaml").read_text() == "mine"
    assert drive(tmp_path, "import", "qa.csv", *MAPPING, "-o", "suite.yaml", "--force").code == 0
    assert "What is 2+2?" in (tmp_path / "suite.yaml").read_text()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["qa.csv", "suite.yaml"], "nothing is left behind"


def test_a_suite_of_another_format_becomes_a_native_one(tmp_path: Path) -> None:
    done = drive(tmp_path, "import", str(FIXTURES / "task-suite.json"), "-o", "kitchen.yaml")
    assert done.code == 0, done.err
    told = drive(tmp_path, "validate", "kitchen.yaml")
    assert told.code == 0, told.both
    assert "suite 'kitchen', 3 cases" in told.out
    assert "native" in told.out


def test_a_target_that_may_not_be_found_any_more_is_noted(tmp_path: Path) -> None:
    write(tmp_path, one_json='{"target": "agent.py:answer", "test_cases": [{"input": "x", "expected": "x"}]}')
    (tmp_path / "sub").mkdir()
    assert "note" not in drive(tmp_path, "import", "one.json", "-o", "one.yaml").out
    done = drive(tmp_path, "import", "one.json", "-o", "sub/one.yaml")
    assert "relative paths in the suite now start at its new folder" in done.out
    assert done.out.endswith("run sub/one.yaml\n"), "it names its target itself"


def test_what_is_wrong_is_said(tmp_path: Path) -> None:
    odd = TABLE.replace("question", "asked")
    write(tmp_path, qa_csv=TABLE, odd_csv=odd, rows_jsonl='{"q": "x"}\n', bad_json="{", suite_yaml="name: x\n")
    for words, message in [
        (["odd.csv"], "odd.csv is a table: map its columns"),
        (["rows.jsonl"], "columns: q; try --map input=COLUMN"),
        (["qa.csv", "--map", "input=quest"], "unknown column 'quest'. Did you mean 'question'?"),
        (["qa.csv", "--map", "input=question", "--format", "native"], "formats are for suite files"),
        (["qa.csv", *MAPPING, "-o", "suite.json"], "name a file that ends in .yaml"),
        (["qa.csv", *MAPPING, "-o", "nowhere/suite.yaml"], "cannot write nowhere/suite.yaml"),
        (["gone.csv", *MAPPING], "gone.csv: cannot be read"),
        (["gone.yaml"], "gone.yaml: no such file"),
        (["bad.json"], "bad.json:1: not valid JSON"),
        (["suite.yaml"], "suite.yaml"),
        (["."], "is a folder"),
    ]:
        done = drive(tmp_path, "import", *words)
        assert done.code == 2, words
        assert message in done.err, done.both
        assert done.out == ""


def test_a_table_in_place_of_a_suite_gets_advice_and_no_flood(tmp_path: Path) -> None:
    rows = '{"asked": "2+2?", "right": "4"}\n' * 2000
    write(
        tmp_path,
        qa_csv=TABLE.replace("question", "asked"),
        rows_jsonl=rows,
        list_json=f"[{rows.replace(chr(10), ',')}{{}}]".replace(",{}", ""),
    )
    for name in ("qa.csv", "rows.jsonl", "list.json"):
        for words in (["validate", name], ["run", name, "--target", "echo"]):
            done = drive(tmp_path, *words)
            assert done.code == 2
            assert f"eval-harness import {name} --map input=COLUMN --map expected=COLUMN" in done.err
            assert len(done.both.splitlines()) <= 4, done.both


def test_many_problems_alike_are_counted(tmp_path: Path) -> None:
    cases = ", ".join('{"input": "x", "expected": {"numeric": "y"}}' for _ in range(500))
    write(tmp_path, suite_json=f'{{"test_cases": [{cases}]}}')
    for words in (["validate"], ["run", "--target", "echo"], ["import"]):
        done = drive(tmp_path, words[0], "suite.json", *words[1:])
        assert done.code == 2
        assert "suite.json: … and 490 more like this: must be a number, not 'y'" in done.err
        assert "500 problems" in done.err
        assert len(done.err.splitlines()) <= 14
    assert len(drive(tmp_path, "validate", "suite.json", "--json").json["files"][0]["problems"]) == 500


def test_rows_that_are_left_out_are_reported_beside_the_suite(tmp_path: Path) -> None:
    write(tmp_path, qa_csv=TABLE + "3,No answer?,\n")
    done = drive(tmp_path, "import", "qa.csv", *MAPPING)
    assert done.code == 0
    assert "qa.csv:4: warning: [2]: the row is skipped: nothing in answer" in done.err
    assert "No answer?" not in done.out


def test_the_advice_for_a_table_is_a_field_of_its_own_in_json(tmp_path: Path) -> None:
    write(tmp_path, qa_csv=TABLE.replace("question", "asked"))
    done = drive(tmp_path, "validate", "qa.csv", "--json")
    (file,) = json.loads(done.out)["files"]
    (problem,) = file["problems"]
    assert problem["message"].startswith("is a table with the columns id, asked, answer")
    assert problem["hint"].startswith("make it a suite with: eval-harness import qa.csv --map input=COLUMN")


def test_tables_with_the_usual_column_names_need_no_mapping(tmp_path: Path) -> None:
    chat = '[{"role": "user", "content": "hi"}]'
    write(
        tmp_path,
        qa_csv="Question,Answer,category\nhi,hi,greeting\nho,hi,greeting\n",
        samples_jsonl=f'{{"input": {chat}, "ideal": "hi"}}\n{{"input": "ho", "ideal": "ho"}}\n',
        inspect_jsonl='{"id": "one", "input": "hi", "target": "hi"}\n',
        agent_py="def answer(asked):\n    return asked if isinstance(asked, str) else asked[-1]['content']\n",
    )
    for name, states in [
        ("qa.csv", {"case-1": ["passed"], "case-2": ["failed"]}),
        ("samples.jsonl", {"case-1": ["passed"], "case-2": ["passed"]}),
        ("inspect.jsonl", {"one": ["passed"]}),
    ]:
        assert drive(tmp_path, "run", name, "--target", "agent.py:answer", "--json").states() == states
        imported = drive(tmp_path, "import", name, "-o", "made.yaml", "--force")
        assert imported.code == 0, imported.both
        assert drive(tmp_path, "run", "made.yaml", "--target", "agent.py:answer", "--json").states() == states


def test_tables_in_a_folder_are_not_taken_for_suites(tmp_path: Path) -> None:
    write(tmp_path, suite_json='[{"id": "mine", "input": "x"}]', gold_jsonl='{"question": "x", "answer": "y"}\n')
    assert list(drive(tmp_path, "run", ".", "--target", "echo", "--json").states()) == ["mine"]
