"""What the looks of a soak come to, and what is wrong with them."""
from __future__ import annotations

# Fixes that may go into proving the receiver's time, at the start and when this machine stalls.
UNSETTLED = 100
# MB of anonymous memory that may be left when a long drain has ended.
ANONYMOUS = 4.0


def away(days: float) -> tuple:
    """When the backend is away: on the third day of seven."""
    return days * 2 / 7, days * 3 / 7


def verdict(looks: list, days: float, lost: int) -> tuple:
    """The result, and a list of faults. The looks from half a day (of seven) after the outage on must all be alike.

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
        # An upload under way has a few of its own.
        ("descriptors are not closed", after[-1]["descriptors"] > after[0]["descriptors"] + 4),
        ("the database grows", after[-1]["database"] > after[0]["database"] + 0.5),
        ("the WAL grows", result["most_wal_mb"] > 17),
        ("there was no backlog", result["most_pending"] < days / 7 * 86_400 / 2),
        ("what was pending is not uploaded", looks[-1]["pending"] > 600),
        ("fixes are missing", looks[-1]["dropped"] > 0 or result["fixes"] < days * 86_400 - UNSETTLED - lost),
    ) if is_found]
    return result, faults


def slope(looks: list, key: str) -> float:
    """Least squares, an hour."""
    hours = [look["day"] * 24 for look in looks]
    values = [look[key] for look in looks]
    mean, level = sum(hours) / len(hours), sum(values) / len(values)
    spread = sum((hour - mean) ** 2 for hour in hours)
    return sum((hour - mean) * (value - level) for hour, value in zip(hours, values, strict=True)) / spread if spread else 0.0
