"""Reading tables: every row as a mapping, with its line, or the reason why not."""

from __future__ import annotations

from pathlib import Path

import pytest

from evalharness.errors import InvalidFile
from evalharness.formats.tables.rows import read_table
from evalharness.syntax.source import Source


def read(folder: Path, name: str, text: str, encoding: str = "utf-8") -> Source:
    path = folder / name
    path.write_bytes(text.encode(encoding))
    return read_table(path)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("t.csv", "question,answer\nq1,a1\nq2,a2\n"),
        ("t.csv", "question;answer\nq1;a1\nq2;a2"),
        ("t.csv", "question\tanswer\r\nq1\ta1\r\n\r\nq2\ta2\r\n"),
        ("t.csv", '"question" ,"answer"\nq1,a1\nq2,a2\n'.replace('" ,', '",')),
        ("t.TSV", "question\tanswer\nq1\ta1\nq2\ta2\n"),
        ("t.jsonl", '{"question": "q1", "answer": "a1"}\n{"question": "q2", "answer": "a2"}\n'),
        ("t.json", '[{"question": "q1", "answer": "a1"}, {"question": "q2", "answer": "a2"}]'),
    ],
)
def test_the_same_rows_in_every_syntax(tmp_path: Path, name: str, text: str) -> None:
    assert read(tmp_path, name, text).data == [
        {"question": "q1", "answer": "a1"},
        {"question": "q2", "answer": "a2"},
    ]


def test_cells_may_contain_delimiters_quotes_line_breaks_and_much_text(tmp_path: Path) -> None:
    long = "x" * 200_000
    source = read(tmp_path, "t.csv", f'a,b\n"1,5; ""so""\nand on",2\n{long},é\n', "utf-8-sig")
    assert source.data == [{"a": '1,5; "so"\nand on', "b": "2"}, {"a": long, "b": "é"}]
    assert [source.line_of((row,)) for row in (0, 1)] == [2, 4]


def test_a_short_row_has_no_last_cells(tmp_path: Path) -> None:
    assert read(tmp_path, "t.csv", "a,b,c\n1,2\n").data == [{"a": "1", "b": "2"}]


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("t.csv", "", "is empty: the first line must name the columns"),
        ("t.csv", "a,b,a\n1,2,3\n", "1: the header names 'a' more than once"),
        ("t.csv", "a,b\n1,2\n1,2,3\n", "3: 3 cells, but the header has 2; quote cells that contain ','"),
        ("t.csv", 'a,b\n1,2\n"1,2\n', "3: not a valid row: unexpected end of data"),
        ("t.json", '{"a": 1}', "a table must be a list of objects"),
        ("t.json", '{"train": [], "test": [{"a": 1}]}', "with several lists (train, test); keep only the one"),
        ("t.json", '{"data":\n[{"a": 1},\n5]}', "3: a row must be a mapping from column to value, not a number"),
        ("t.csv", '"a"b,c\n1,2\n', "1: not a valid row"),
        ("t.jsonl", '{"a": 1}\n5\n[]\n', "2: a row must be a mapping from column to value, not a number"),
        ("t.parquet", "PAR1", "unknown file ending '.parquet'"),
    ],
)
def test_what_is_not_a_table_is_refused_with_its_line(tmp_path: Path, name: str, text: str, problem: str) -> None:
    with pytest.raises(InvalidFile) as caught:
        read(tmp_path, name, text)
    assert problem in str(caught.value)


def test_every_wrong_row_is_reported(tmp_path: Path) -> None:
    for name, text, lines in [
        ("t.csv", 'a,b\n1,2,3\n1\n"1"x,2\n1,2,3\n', [2, 4, 5]),
        ("t.jsonl", '{"a": 1}\n{"a": 1\n[1]\n5\n', [2, 3, 4]),
        ("t.json", '{"data": [\n{"a": 1, "a": 2},\n5]}', [2, 3]),
    ]:
        with pytest.raises(InvalidFile) as caught:
            read(tmp_path, name, text)
        assert [problem.line for problem in caught.value.problems] == lines


def test_rows_may_be_inside_a_mapping_as_its_only_list(tmp_path: Path) -> None:
    source = read(tmp_path, "t.json", '{"version": 1, "data": [\n{"a": 1},\n{"a": 2}]}')
    assert source.data == [{"a": 1}, {"a": 2}]
    assert source.line_of((1,)) == 3


def test_text_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidFile, match="not UTF-8"):
        read(tmp_path, "t.csv", "a,b\né,2\n", "latin-1")
