"""Special methods of sets, views of dictionaries and lists in compiled code must answer as in Python."""

import sys


def bug():
    """Whether the bug is there."""
    import torch

    class Own(set):
        pass

    def ask(x):
        one, names = {1, 2}, {"a": 1, "b": 2}
        answers = [
            one.__or__([3]) is NotImplemented,
            one.__and__({2}),
            one.__le__(frozenset((1, 2, 3))),
            one.__contains__(2),
            names.keys() & {"a"},
            names.keys() | {"c"},
            names.items() - {("a", 1)},
            names.keys() == {"a", "b"},
            one ^ {2, 3},
            [1, 2].__eq__((1, 2)) is NotImplemented,
            [1].__lt__([2]),
            one.__rsub__({1, 5}),
            type(Own(one) | one).__name__,
            type(Own(one) - one).__name__,
            [1, 2].__mul__(2),
            type(one | frozenset()).__name__,
            type(frozenset(one) | one).__name__,
            names.keys().__and__(["a"]),
            one.__lt__([1]) is NotImplemented,
        ]
        return x + 1, answers

    want = ask(torch.zeros(1))[1]
    try:
        got = torch.compile(ask, backend="eager")(torch.zeros(1))[1]
    except Exception as error:
        print(type(error).__name__, str(error)[:300])
        return True
    print([pair for pair in zip(want, got) if pair[0] != pair[1]])
    return want != got


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
