// Measures points against polygons, for Tests/System/tracking/test_polygons.py to compare with another implementation.
//
// Standard input and output are doubles of this machine. In: for each polygon the number of its corners, longitude and
// latitude of each, the number of points, and theirs. Out: 1 and the radius, or 0 and 0 for a polygon that is refused and
// whose points are passed over; then metres from each point to the edge, negative inside.

import Base
import Glibc
import Tracking

func standardInput() -> [Double] {
    var bytes: [UInt8] = []
    var room = [UInt8](repeating: 0, count: 1 << 20)
    while true {
        let count = read(STDIN_FILENO, &room, room.count)
        guard count > 0 else { break }
        bytes += room[..<count]
    }
    return bytes.withUnsafeBytes { all in
        (0..<all.count / 8).map { all.loadUnaligned(fromByteOffset: 8 * $0, as: Double.self) }
    }
}

func write(_ values: [Double]) {
    values.withUnsafeBytes { all in
        var rest = all[...]
        while !rest.isEmpty {
            let count = Glibc.write(STDOUT_FILENO, rest.baseAddress, rest.count)
            guard count > 0 else { exit(1) }
            rest = rest[(rest.startIndex + count)...]
        }
    }
}

extension Slice<UnsafeRawBufferPointer> {
    var baseAddress: UnsafeRawPointer? { base.baseAddress.map { $0 + startIndex } }
}

/// As many positions as the next number says.
func positions(_ input: inout ArraySlice<Double>) -> [[Double]] {
    let count = input.popFirst().flatMap { Int(exactly: $0) } ?? 0
    let numbers = input.prefix(2 * count)
    input = input.dropFirst(2 * count)
    return stride(from: numbers.startIndex, to: numbers.endIndex, by: 2).map {
        [numbers[$0], numbers[$0 + 1]]
    }
}

var input = standardInput()[...]
while !input.isEmpty {
    let fence = try? Geofence(id: "a", ring: positions(&input))
    let points = positions(&input)
    guard let fence, let polygon = fence.polygon else {
        write([0, 0])
        continue
    }
    let outline = PolygonOutline(polygon)
    write(
        [1, fence.radius]
            + points.compactMap { Coordinate(latitude: $0[1], longitude: $0[0]) }.map {
                outline.distance(from: $0)
            })
}
