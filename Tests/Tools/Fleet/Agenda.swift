package import Base

/// The next moment of each vehicle, earliest first: a heap with one entry a vehicle, so that it never grows.
package struct Agenda: Sendable {
    private struct Entry {
        var nanoseconds: Int64
        var vehicle: Int32
    }

    /// A moment that never comes.
    package static let never = BootInstant(nanoseconds: .max)

    private var heap: [Entry]
    /// Where in the heap each vehicle is.
    private var places: [Int32]

    /// An agenda of so many vehicles, for none of which anything is due.
    package init(count: Int) {
        heap = (0..<count).map { Entry(nanoseconds: .max, vehicle: Int32($0)) }
        places = (0..<count).map { Int32($0) }
    }

    /// The earliest; nil without vehicles.
    package var first: (vehicle: Int, time: BootInstant)? {
        heap.first.map { (Int($0.vehicle), BootInstant(nanoseconds: $0.nanoseconds)) }
    }

    /// The next moment of a vehicle.
    package mutating func set(_ vehicle: Int, _ time: BootInstant) {
        let place = Int(places[vehicle])
        let old = heap[place].nanoseconds
        heap[place].nanoseconds = time.nanoseconds
        if time.nanoseconds < old { rise(place) } else if time.nanoseconds > old { sink(place) }
    }

    /// Vehicles whose moments are equal take turns in a fixed order: a run can be repeated.
    private func isBefore(_ left: Entry, _ right: Entry) -> Bool {
        left.nanoseconds != right.nanoseconds
            ? left.nanoseconds < right.nanoseconds : left.vehicle < right.vehicle
    }

    private mutating func put(_ entry: Entry, at place: Int) {
        heap[place] = entry
        places[Int(entry.vehicle)] = Int32(place)
    }

    private mutating func rise(_ start: Int) {
        var place = start
        let entry = heap[place]
        while place > 0 {
            let parent = (place - 1) / 4
            guard isBefore(entry, heap[parent]) else { break }
            put(heap[parent], at: place)
            place = parent
        }
        put(entry, at: place)
    }

    private mutating func sink(_ start: Int) {
        var place = start
        let entry = heap[place]
        while place * 4 + 1 < heap.count {
            var least = place * 4 + 1
            for child in least..<min(least + 4, heap.count) where isBefore(heap[child], heap[least]) {
                least = child
            }
            guard isBefore(heap[least], entry) else { break }
            put(heap[least], at: place)
            place = least
        }
        put(entry, at: place)
    }
}
