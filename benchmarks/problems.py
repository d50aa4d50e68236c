"""Our own small programming problems."""
# ruff: noqa: B905, RUF007 - solutions as people write them

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.problem import Problem

PROBLEMS: list[Problem] = []


def problem(calls: list[list[Any]], *mistakes: tuple[str, str]) -> Callable[..., Any]:
    def remember(solution: Callable[..., Any]) -> Callable[..., Any]:
        PROBLEMS.append(Problem(solution, tuple(calls), mistakes))
        return solution

    return remember


@problem([["Otter"], [""], ["AEIOU"], ["rhythm"], ["queue"]], (".lower()", ""), ("aeiou", "aeio"))
def count_vowels(text):
    return sum(letter in "aeiou" for letter in text.lower())


@problem([["a b c"], [""], ["  x  y "], ["one"], ["to be or"]], ("reversed(", "("), ('" ".join', '"".join'))
def reverse_words(text):
    return " ".join(reversed(text.split()))


@problem([["Anna"], ["Was it a car"], ["a, A"], [""], ["ab"]], (".lower()", ""), ("kept ==", "not kept =="))
def is_palindrome(text):
    kept = [letter.lower() for letter in text if letter.isalnum()]
    return kept == kept[::-1]


@problem(
    [[[1, 2, 3]], [[]], [[-1, 1]], [[5]], [[0, 0, 2]]], ("+= number", "= number"), ("return found", "return total")
)
def running_total(numbers):
    total, found = 0, []
    for number in numbers:
        total += number
        found.append(total)
    return found


@problem([[[1, 2, 3]], [[2, 2]], [[]], [[5, 5, 4]], [[-1, -2]]], ("set(numbers)", "numbers"), ("[-2]", "[-1]"))
def second_largest(numbers):
    distinct = sorted(set(numbers))
    return distinct[-2] if len(distinct) > 1 else None


@problem([[123], [0], [-45], [999], [10]], ("abs(number)", "number"), ("sum(", "max("))
def digits_sum(number):
    return sum(int(digit) for digit in str(abs(number)))


@problem([[10], [2], [3], [30], [50]], ("+ 1", ""), ("range(2, limit)", "range(1, limit)"))
def primes_below(limit):
    return [n for n in range(2, limit) if all(n % d for d in range(2, int(n**0.5) + 1))]


@problem([[12, 18], [7, 13], [0, 5], [100, 75], [9, 3]], ("return a", "return b"), ("a % b", "a // b - 1 and 0"))
def greatest_divisor(a, b):
    while b:
        a, b = b, a % b
    return a


@problem([[5], [0], [1], [255], [10]], ("[2:]", ""), ("[2:]", "[2:][::-1]"))
def to_binary(number):
    return bin(number)[2:]


@problem([["aab"], [""], ["abc"], ["zzzz"], ["abba"]], ("+ 1)", "+ 2)"), ("return found", "return found[1:]"))
def run_lengths(text):
    found = []
    for letter in text:
        if found and found[-1][0] == letter:
            found[-1] = (letter, found[-1][1] + 1)
        else:
            found.append((letter, 1))
    return found


@problem(
    [[[1, [2, [3]]]], [[]], [[[[]]]], [["a", ["b"]]], [[1, 2]]],
    ("flatten(item)", "item"),
    ("isinstance(item, list)", "item == []"),
)
def flatten(nested):
    return [leaf for item in nested for leaf in (flatten(item) if isinstance(item, list) else [item])]


@problem(
    [[["flow", "flower"]], [[]], [["a", "b"]], [["same", "same"]], [["ab", "abc", "abd"]]],
    ("return first\n", "return last\n"),
    ("[:place]", "[: place + 1]"),
)
def common_prefix(words):
    if not words:
        return ""
    first, last = min(words), max(words)
    for place, letter in enumerate(first):
        if letter != last[place]:
            return first[:place]
    return first


@problem([["([])"], ["(]"], [""], ["(("], [")"]], ("return not opened", "return True"), ("not opened or ", ""))
def is_balanced(text):
    pairs, opened = {")": "(", "]": "[", "}": "{"}, []
    for letter in text:
        if letter in pairs.values():
            opened.append(letter)
        elif letter in pairs and (not opened or opened.pop() != pairs[letter]):
            return False
    return not opened


@problem([[0], [1], [10], [30], [90]], ("0, 1", "1, 1"), ("range(n)", "range(n + 1)"))
def fibonacci(n):
    a, b = 0, 1
    for _ in range(n):
        a, b = b, a + b
    return a


@problem(
    [[[1, 2, 3], 1], [[], 2], [[1, 2], 5], [["a"], 0], [[1, 2, 3, 4], 2]],
    ("items[-steps:] + items[:-steps]", "items[steps:] + items[:steps]"),
    (" if items else 0", ""),
)
def rotate(items, steps):
    steps = steps % len(items) if items else 0
    return items[-steps:] + items[:-steps]


@problem([["a b a"], [""], ["A a"], ["x"], ["one two two"]], (".lower()", ""), ("+ 1", "+ 2"))
def word_counts(text):
    found = {}
    for word in text.lower().split():
        found[word] = found.get(word, 0) + 1
    return found


@problem(
    [[[[1, 2], [3, 4]]], [[]], [[[1, 2, 3]]], [[[1], [2]]], [[["a", "b"]]]],
    ("zip(*rows)", "rows"),
    ("list(column)", "list(column)[::-1]"),
)
def transpose(rows):
    return [list(column) for column in zip(*rows)]


@problem([[[3, 1, 2]], [[4, 1]], [[7]], [[1, 2, 3, 4]], [[5, 5]]], ("sorted(numbers)", "numbers"), (") / 2", ") // 2"))
def median(numbers):
    ordered = sorted(numbers)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


@problem([["abc", 1], ["xyz", 3], ["", 5], ["Hello", 13], ["a-z", 26]], ("% 26", "% 25"), ("+ shift", "- shift"))
def caesar(text, shift):
    return "".join(chr((ord(c) - 97 + shift) % 26 + 97) if c.islower() else c for c in text)


@problem(
    [[[[1, 3], [2, 6]]], [[]], [[[1, 2], [3, 4]]], [[[5, 6], [1, 9]]], [[[1, 4], [4, 5]]]],
    ("sorted(intervals)", "intervals"),
    ("<=", "<"),
)
def merge_intervals(intervals):
    found = []
    for start, end in sorted(intervals):
        if found and start <= found[-1][1]:
            found[-1][1] = max(found[-1][1], end)
        else:
            found.append([start, end])
    return found


@problem([[1994], [4], [9], [58], [3999]], ('(900, "CM"), ', ""), ('(4, "IV"), ', ""))
def roman(number):
    signs = [(1000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC"), (50, "L"), (40, "XL")]
    text = ""
    for value, sign in [*signs, (10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I")]:
        text += sign * (number // value)
        number %= value
    return text


@problem(
    [[[1, 3, 5], 3], [[], 1], [[1], 1], [[1, 2], 3], [[2, 4, 6, 8], 8]],
    ("else -1", "else 0"),
    ("middle + 1", "middle + 2"),
)
def binary_search(items, wanted):
    low, high = 0, len(items)
    while low < high:
        middle = (low + high) // 2
        if items[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low if low < len(items) and items[low] == wanted else -1


@problem(
    [["listen", "silent"], ["a", "b"], ["", ""], ["dirty room", "Dormitory"], ["aab", "abb"]],
    ('.replace(" ", "")', ""),
    ("sorted(one", "set(one"),
)
def are_anagrams(one, other):
    return sorted(one.replace(" ", "").lower()) == sorted(other.replace(" ", "").lower())


@problem([[1], [6], [7], [27], [16]], ("3 * n + 1", "n + 1"), ("steps = 0", "steps = 1"))
def collatz_steps(n):
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


@problem([[[1, 9, 4]], [[]], [[5]], [[3, 3]], [[-5, 5]]], ("sorted(numbers)", "list(numbers)"), ("max(", "min("))
def largest_gap(numbers):
    ordered = sorted(numbers)
    return max((after - before for before, after in zip(ordered, ordered[1:])), default=0)


@problem(
    [[[1, 2, 1]], [[]], [["b", "a", "b"]], [[3]], [[2, 2, 2]]],
    ("dict.fromkeys(items)", "items"),
    ("list(dict.fromkeys(items))", "sorted(items)"),
)
def unique_in_order(items):
    return list(dict.fromkeys(items))


@problem([["hello world"], [""], ["ADA"], ["a  b"], ["mIXed case"]], (".lower()", ""), ('split(" ")', "split()"))
def title_case(text):
    return " ".join(word[:1].upper() + word[1:].lower() for word in text.split(" "))


@problem(
    [
        [[[1, 2]], [[3], [4]]],
        [[[1]], [[1]]],
        [[[1, 0], [0, 1]], [[5, 6], [7, 8]]],
        [[[2]], [[3]]],
        [[[1, 1]], [[1, 2], [3, 4]]],
    ],
    ("x * y", "x + y"),
    ("zip(*b)", "b"),
)
def matrix_product(a, b):
    return [[sum(x * y for x, y in zip(row, column)) for column in zip(*b)] for row in a]


@problem(
    [[[1, -2, 3]], [[-1]], [[2, 3]], [[-3, -1]], [[4, -1, 2]]], ("numbers[0]", "0"), ("current + number)", "current)")
)
def best_sum(numbers):
    best = current = numbers[0]
    for number in numbers[1:]:
        current = max(number, current + number)
        best = max(best, current)
    return best


@problem(
    [[["a", "bb", "c"]], [[]], [["xx"]], [["", "a"]], [["one", "two"]]],
    ("len(word)", "len(words)"),
    ("append(word)", "append(word[:1])"),
)
def group_by_length(words):
    found = {}
    for word in words:
        found.setdefault(str(len(word)), []).append(word)
    return found


@problem([[[1, 2]], [[]], [[1, 1]], [["a", "b", "c"]], [[0]]], ("set(items)", "items"), ("2 **", "2 *"))
def power_set_size(items):
    return 2 ** len(set(items))


@problem(
    [["abc", "abd"], ["", "x"], ["same", "same"], ["ab", "abcd"], ["x", "y"]],
    ("+ abs(len(one) - len(other))", ""),
    ("a != b", "a == b"),
)
def hamming(one, other):
    return sum(a != b for a, b in zip(one, other)) + abs(len(one) - len(other))
