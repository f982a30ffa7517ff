"""Where the vehicles of `make fleet` are: on an island of the Dogger Bank that does not exist (town.mbtiles shows it)."""
from __future__ import annotations

import math

# Metres between the places where they begin; each drives around its own, 1,500 m away and a little more.
DISTANCE = 2400
SOUTHWEST = (54.72, 2.46)


def meters_per_degree(latitude: float) -> tuple[float, float]:
    return 111_320.0, 111_320.0 * math.cos(math.radians(latitude))


def _place(number: int) -> tuple[float, float]:
    north, east = meters_per_degree(SOUTHWEST[0])
    return (round(SOUTHWEST[0] + number // 4 * DISTANCE / north, 4), round(SOUTHWEST[1] + number % 4 * DISTANCE / east, 4))


# Latitude and longitude; vehicle 1 has the second, vehicle 10 the first.
PLACES = [_place(number) for number in range(10)]
