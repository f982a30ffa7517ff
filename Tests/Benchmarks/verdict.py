"""The result of a soak test: a summary of its looks, and what is wrong with them."""
from __future__ import annotations

# Fixes that may be used up to settle the receiver's time, at the start and when this machine stalls.
UNSETTLED = 100
# MB of anonymous memory that may remain after a long drain.
ANONYMOUS = 4.0


def away(days: float) -> tuple:
    """Whether the backend is down: on the third day of seven."""
    return days * 2 / 7, days * 3 / 7


def verdict(looks: list, days: float, lost: int) -> tuple:
    """The result, and a list of faults. From half a day (of seven) after the outage, all looks must be alike.

    - lost: fixes that never reached the daemon, because this machine stalled.
    """
    after = [look for look in looks if look["day"] > away(days)[1] + days / 14] or looks[-1:]
    result = {
        "days": days, "lost_by_stalls": lost, "fixes": looks[-1]["uploaded"] + looks[-1]["pending"],
        "anonymous_kb_per_hour": slope(after, "anonymous") * 1000,
        "resident_mb": after[-1]["resident"], "anonymous_mb": after[-1]["anonymous"],
        "most_descriptors": max(look["descriptors"] for look in looks),
        "database_mb": after[-1]["database"], "most_wal_mb": max(look["wal"] for look in looks),
        "most_pending": max(look["pending"] for look in looks), "hours": (after[-1]["day"] - after[0]["day"]) * 24}
    faults = [name for name, is_found in (
        ("memory grows", result["anonymous_kb_per_hour"] > 5),
        ("memory stays when a long drain has ended", result["anonymous_mb"] > ANONYMOUS),
        # An upload in progress has a few of its own.
        ("descriptors are not closed", after[-1]["descriptors"] > after[0]["descriptors"] + 4),
        ("the database grows", after[-1]["database"] > after[0]["database"] + 0.5),
        ("the WAL grows", result["most_wal_mb"] > 17),
        ("there was no backlog", result["most_pending"] < days / 7 * 86_400 / 2),
        ("what was pending is not uploaded", looks[-1]["pending"] > 600),
        ("fixes are missing", looks[-1]["dropped"] > 0 or result["fixes"] < days * 86_400 - UNSETTLED - lost),
    ) if is_found]
    return result, faults


def slope(looks: list, key: str) -> float:
    """The slope by least squares, per hour."""
    hours = [look["day"] * 24 for look in looks]
    values = [look[key] for look in looks]
    mean, level = sum(hours) / len(hours), sum(values) / len(values)
    spread = sum((hour - mean) ** 2 for hour in hours)
    return sum((hour - mean) * (value - level) for hour, value in zip(hours, values, strict=True)) / spread if spread else 0.0
