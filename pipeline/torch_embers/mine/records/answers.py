"""Answers of servers as JSON of the expected form: readers meet objects where they expect them, whatever was sent.

The form of a GraphQL answer is in the queries: a field with a selection is an object, ``nodes`` is a list of objects.
What has another form becomes null and is named as an error of the server, which readers know how to take: a gap is
never an end.
"""

from __future__ import annotations

import json
import re
from functools import cache
from typing import TYPE_CHECKING, Any

from torch_embers import resources
from torch_embers.mine.records.rest_records import BadRecordError, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

LISTS = frozenset({"nodes", "edges", "reactionGroups", "checkRunCountsByState", "statusContextCountsByState"})
"""Fields with a selection that are lists of objects."""
IDENTIFIED = {"comments": "id", "files": "path"}
"""Connections whose objects are stored by a key of their own."""
ANOTHER_FORM = "ANOTHER_FORM"
"""Type of the errors that name what had another form."""
Place = tuple[str | int, ...]
"""Where something stands below ``data``."""
_SELECTION = re.compile(r"(?<!\.\.\.)(?<!on )\b([a-z]\w*)(?:\s*:\s*[a-z]\w*)?\s*(?:\([^()]*\))?\s*\{")
_DECLARED = re.compile(r"^(?:query|fragment)\b[^{]*\{", re.MULTILINE)


def parsed(text: str | bytes) -> Any:
    """Parse JSON.

    Raises:
        BadRecordError: it is none, is nested too deeply, or holds a number of thousands of digits.
    """
    try:
        return json.loads(text)
    except RecursionError:
        raise BadRecordError("JSON that is nested too deeply") from None
    except ValueError as error:
        raise BadRecordError(f"no usable JSON: {str(error)[:120]}") from None


def printed(value: object) -> str:
    """A value for the raw text of a reject; empty where it is too deep to print."""
    try:
        return json.dumps(value)
    except (ValueError, RecursionError):
        return ""


@cache
def object_fields() -> frozenset[str]:
    """Fields of all queries that have a selection of their own."""
    folder = resources.PACKAGE_DIR / "mine" / "records" / "queries"
    texts = [re.sub(r"#.*", "", path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.graphql"))]
    found = {name for text in texts for name in _SELECTION.findall(_DECLARED.sub("{", text))}
    return frozenset(found | {"data"})


def shaped(answer: object) -> dict[str, Any]:
    """A GraphQL answer in its declared form: what has another form is null, and one more of the ``errors`` names it.

    Args:
        answer: as parsed; it is changed in place.

    Raises:
        BadRecordError: it is no object.
    """
    if not isinstance(answer, dict):
        raise BadRecordError(f"the answer is no object but {shown(answer)}")
    if answer.get("errors") is None and _has_form(answer.get("data")):
        return answer
    errors = answer.get("errors") if isinstance(answer.get("errors"), list) else [answer.get("errors")]
    told = [_error(error) for error in errors or () if error is not None]
    waiting: list[tuple[dict[str, Any], Place]] = [({"data": answer.get("data")}, ())]
    root = waiting[0][0]
    while waiting:
        obj, place = waiting.pop()
        told += _mend(obj, place)
        for name, value in obj.items():
            waiting += _objects(value, (*place, name) if obj is not root else ())
    answer["data"] = root["data"]
    if told:
        answer["errors"] = told
    return answer


def _has_form(data: object) -> bool:
    """Whether nothing needs mending: nearly every answer, so this goes without the places that an error would name."""
    if data is not None and not isinstance(data, dict):
        return False
    fields = object_fields()
    waiting: list[tuple[str, dict[str, Any]]] = [("data", data)] if data else []
    while waiting:
        holder, obj = waiting.pop()
        for name, value in obj.items():
            if value is None or name not in fields:
                continue
            if name not in LISTS:
                if not isinstance(value, dict):
                    return False
                waiting.append((name, value))
            elif not isinstance(value, list) or not all(part is None or _is_usable(part, holder) for part in value):
                return False
            else:
                waiting += [(name, part) for part in value if part is not None]
    return True


def _objects(value: object, place: Place) -> Iterator[tuple[dict[str, Any], Place]]:
    if isinstance(value, dict):
        yield value, place
    elif isinstance(value, list):
        yield from ((part, (*place, at)) for at, part in enumerate(value) if isinstance(part, dict))


def _error(error: object) -> dict[str, Any]:
    """One of the ``errors`` with a path that is a list."""
    if not isinstance(error, dict):
        return _named((), f"an error that is no object but {shown(error)}")
    return error if isinstance(error.get("path"), list | None) else error | {"path": []}


def _named(place: Place, words: str) -> dict[str, Any]:
    return {"type": ANOTHER_FORM, "message": words, "path": list(place)}


def _mend(obj: dict[str, Any], place: Place) -> Iterator[dict[str, Any]]:
    """Set to null what is no object or list where one belongs, and give the errors that name it."""
    for name, value in obj.items():
        here = (*place, name) if name != "data" else place
        if value is None or name not in object_fields():
            continue
        if name not in LISTS:
            if not isinstance(value, dict):
                obj[name] = None
                yield _named(here, f"no object but {shown(value)}")
        elif not isinstance(value, list):
            obj[name] = None
            yield _named(here, f"no list but {shown(value)}")
        else:
            for at, part in enumerate(value):
                if part is not None and not _is_usable(part, str(place[-1]) if place else ""):
                    value[at] = None
                    yield _named((*here, at), f"no usable object but {shown(part)}")


def _is_usable(part: object, holder: str) -> bool:
    """Whether an entry of the list in a field is an object, with the key that objects of that field are stored by."""
    if not isinstance(part, dict):
        return False
    key = IDENTIFIED.get(holder)
    return key is None or isinstance(part.get(key), str)
