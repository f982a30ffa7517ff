"""A hook of schemathesis, which makes requests of each field by itself: that a period ends after its beginning no schema says."""
import datetime

import schemathesis


def moment(text: object) -> datetime.datetime | None:
    try:
        # Of a leap second Python knows nothing.
        return datetime.datetime.fromisoformat(str(text).replace(":60", ":59"))
    except ValueError:
        return None


@schemathesis.hook
def before_call(_context, case, _options):
    query = case.query or {}
    start, end = moment(query.get("from")), moment(query.get("to"))
    # What is no time is for the server to refuse, and so is one without a zone.
    if start and end and start.tzinfo and end.tzinfo and start > end:
        query["from"], query["to"] = query["to"], query["from"]
