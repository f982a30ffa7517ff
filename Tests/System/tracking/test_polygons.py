"""Polygons compared with Shapely, which shares no line with ours: on which side of the edge a point lies, how far away the
edge is, how large the area is, and which rings are no polygons.

BEEKOND_LONG=1 takes a million points instead of 100,000; BEEKOND_SEED repeats a run.
"""
from __future__ import annotations

import os
import random
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.programs import program
from support.seeds import seed

try:
    import numpy
    import shapely
except ImportError:
    shapely = None

MEASURER = program("polygon-measurer")
POLYGONS = 100
POINTS = 10_000 if os.environ.get("BEEKOND_LONG") else 1000
EQUATORIAL_RADIUS, ECCENTRICITY_SQUARED = 6_378_137.0, 6.694379990141317e-3
# Degrees; nearer to the edge than this, rounding decides on which side of it a point is.
ROUNDING = 1e-11
# Metres to the edge that rounding, and an edge that is measured on two slightly different planes, may make.
LEAST = 0.02


def meters_per_degree(latitude) -> tuple:
    """East and north, on WGS-84."""
    angle = numpy.radians(latitude)
    w = 1 - ECCENTRICITY_SQUARED * numpy.sin(angle) ** 2
    east = EQUATORIAL_RADIUS / numpy.sqrt(w) * numpy.cos(angle)
    north = EQUATORIAL_RADIUS * (1 - ECCENTRICITY_SQUARED) / w ** 1.5
    return numpy.radians(1) * east, numpy.radians(1) * north


def equal_area(positions):
    """Degrees to a plane whose areas are those of the ellipsoid, in square metres."""
    sine, e = numpy.sin(numpy.radians(positions[:, 1])), ECCENTRICITY_SQUARED ** 0.5
    height = (1 - e * e) / 2 * (sine / (1 - e * e * sine ** 2) + numpy.arctanh(e * sine) / e)
    return numpy.column_stack([numpy.radians(positions[:, 0]), EQUATORIAL_RADIUS ** 2 * height])


def wrapped(ring):
    """With longitudes from -180 to 180."""
    return [((longitude + 180) % 360 - 180, latitude) for longitude, latitude in ring]


def star(dice: random.Random) -> list:
    """A jagged ring around a place anywhere between 80 degrees south and north, 20 m to 190 km across. Its longitudes go
    on beyond 180."""
    center = (dice.choice([dice.uniform(-180, 180), 179.99, 13.4]), dice.uniform(-80, 80))
    east, north = meters_per_degree(center[1])
    # Near the poles, a polygon of 190 km would go beyond the latitude up to which there are any.
    reach = 10 ** dice.uniform(1, 4.97)
    ring, count = [], dice.choice([3, 4, 5, 8, 30, 100, 500])
    angles = sorted((index + dice.uniform(0, 0.9)) / count for index in range(count))
    for angle in angles:
        far = reach * dice.uniform(0.2, 1)
        ring.append((center[0] + far * numpy.cos(2 * numpy.pi * angle) / east,
                     center[1] + far * numpy.sin(2 * numpy.pi * angle) / north))
    return ring


def around(ring: list, dice: numpy.random.Generator):
    """Points in and around it: some anywhere, most on its edge with noise of 0.1 to 100 m, as fixes have it."""
    corners = numpy.array(ring)
    low, high = corners.min(axis=0), corners.max(axis=0)
    anywhere = dice.uniform(low - (high - low) / 2, high + (high - low) / 2, (POINTS // 4, 2))
    starts = dice.integers(0, len(ring), POINTS - len(anywhere))
    parts = dice.uniform(0, 1, (len(starts), 1))
    edge = corners[starts] * (1 - parts) + corners[(starts + 1) % len(ring)] * parts
    noise = dice.normal(0, 1, edge.shape) * 10 ** dice.uniform(-1, 2, (len(starts), 1))
    found = numpy.vstack([anywhere, edge + noise / numpy.column_stack(meters_per_degree(edge[:, 1]))])
    return found[numpy.abs(found[:, 1]) < 89]


def measure(questions: list) -> list:
    """What our code says of rings and their points: the radius, or None for no polygon, and the distances."""
    sent: list = []
    for ring, points in questions:
        sent += [[len(ring)], numpy.ravel(ring), [len(points)], numpy.ravel(points)]
    done = subprocess.run([MEASURER], input=numpy.concatenate(sent).astype(float).tobytes(), stdout=subprocess.PIPE,
                          check=True)
    said, out, place = numpy.frombuffer(done.stdout), [], 0
    for _, points in questions:
        count = len(points) if said[place] else 0
        out.append((said[place + 1] if said[place] else None, said[place + 2:place + 2 + count]))
        place += 2 + count
    assert place == len(said)
    return out


def distances(ring: list, points):
    """Shapely's distance of each point to the edge, in metres, and how much the plane it is measured on is worth."""
    found = numpy.empty(len(points))
    order = numpy.argsort(points[:, 1])
    # The scale changes with the latitude: a plane for each strip.
    for strip in numpy.array_split(order, 100):
        if not len(strip):
            continue
        scale = numpy.array(meters_per_degree(points[strip, 1].mean()))
        edge = shapely.linearrings(numpy.array(ring) * scale)
        found[strip] = shapely.distance(edge, shapely.points(points[strip] * scale))
    slope = numpy.abs(numpy.tan(numpy.radians(points[:, 1])))
    strips = numpy.radians(numpy.ptp(points[:, 1])) / 50
    return found, LEAST + found * (0.001 + slope * (found / 6.3e6 + strips))


@unittest.skipUnless(shapely, "the Python package shapely is not installed")
@unittest.skipUnless(os.access(MEASURER, os.X_OK), "polygon-measurer is not built")
class PolygonTests(unittest.TestCase):
    def setUp(self):
        start = seed("polygons")
        self.dice, self.numbers = random.Random(start), numpy.random.default_rng(start % 2 ** 32)

    def test_side_distance_and_area(self):
        rings = [star(self.dice) for _ in range(POLYGONS)]
        rings = [ring for ring in rings if max(abs(latitude) for _, latitude in ring) < 84.9]
        points = [around(ring, self.numbers) for ring in rings]
        answers = measure([(wrapped(ring), wrapped(some)) for ring, some in zip(rings, points, strict=True)])
        compared = 0
        for ring, some, (radius, ours) in zip(rings, points, answers, strict=True):
            with self.subTest(corners=len(ring), first=ring[0]):
                self.assertIsNotNone(radius, "it was refused")
                self.assertEqual(len(some), len(ours))
                polygon = shapely.polygons(ring)
                decided = shapely.distance(polygon.exterior, shapely.points(some)) > ROUNDING
                inside = shapely.contains_xy(polygon, some[:, 0], some[:, 1])
                self.assertEqual(numpy.flatnonzero(decided & (inside != (ours < 0))).tolist(), [], "the other side")
                theirs, tolerance = distances(ring, some)
                wrong = numpy.abs(numpy.abs(ours) - theirs) > tolerance
                self.assertEqual([(some[index].tolist(), ours[index], theirs[index]) for index in numpy.flatnonzero(wrong)],
                                 [], "another distance")
                width = polygon.length / 10_000
                area = shapely.transform(shapely.segmentize(polygon, width), equal_area).area
                self.assertAlmostEqual(radius ** 2 * numpy.pi / area, 1, places=4)
                compared += len(some)
        self.assertGreater(compared, 0.8 * POLYGONS * POINTS)
        print(f"polygons: {compared} points around {len(rings)} polygons")

    def test_what_is_no_polygon(self):
        # On a lattice corners and edges meet often; its numbers are exact.
        rings = [[(self.dice.randrange(5) / 64, self.dice.randrange(5) / 64) for _ in range(self.dice.randrange(3, 8))]
                 for _ in range(20_000)]
        # A ring that begins and ends alike, or stands still, is the same without that corner.
        rings = [ring for ring in rings if all(one != other for one, other in zip(ring, ring[1:] + ring[:1], strict=True))]
        valid = shapely.is_valid([shapely.Polygon(ring) for ring in rings])
        ours = [radius is not None for radius, _ in measure([(ring, []) for ring in rings])]
        self.assertEqual([ring for ring, one, other in zip(rings, valid, ours, strict=True) if one != other], [])
        self.assertGreater(sum(valid), 1000)
        self.assertGreater(len(valid) - sum(valid), 1000)


if __name__ == "__main__":
    unittest.main()
