import Accounts
import Base
import Testing

@testable import API
@testable import ServerStore

@Suite("sums of the fleet") struct FleetTallyTests {
    private func sample(_ id: Int64, seen: Double?, _ status: String?) -> VehicleSample {
        VehicleSample(
            DeviceSample(
                id: id, seen: seen.map { Timestamp(milliseconds: Int64($0 * 1000)) }, located: nil,
                status: status))
    }

    @Test("classes of ages, sums, and how many say yes or no") func sums() {
        var (first, second) = (FleetTally(), FleetTally())
        first.add(sample(1, seen: 940, #"{"state":"tracking","pending":3,"ignition":true}"#), at: 1000)
        first.add(sample(2, seen: 939, #"{"state":"stopped","pending":4}"#), at: 1000)
        second.add(sample(3, seen: nil, nil), at: 1000)
        // A clock that is ahead.
        second.add(sample(4, seen: 2000, "no JSON"), at: 1000)
        first.add(second)
        var text = MetricText()
        first.append(to: &text)
        let lines = String(decoding: text.bytes, as: UTF8.self).split(separator: "\n")
        #expect(first.vehicles == 4)
        for line in [
            #"beekon_devices_seen{within_seconds="60"} 2"#, #"beekon_devices_seen{within_seconds="300"} 3"#,
            #"beekon_devices_seen{within_seconds="+Inf"} 3"#,
            #"beekon_devices_located{within_seconds="+Inf"} 0"#,
            "beekon_devices_pending_locations 7", #"beekon_devices_tracking{value="1"} 1"#,
            #"beekon_devices_tracking{value="0"} 1"#, #"beekon_devices_ignition{value="0"} 0"#,
        ] {
            #expect(lines.contains(Substring(line)), "\(line)")
        }
        #expect(!lines.contains { $0.contains("uptime") })
    }
}

@Suite("tokens in memory") struct TokenMemoryTests {
    private func known(_ records: Int) -> TokenMemory.Known {
        let record = TokenRecord(hash: [UInt8](repeating: 1, count: 32), kind: .access)
        return TokenMemory.Known(
            tokens: DeviceTokens(records: [TokenRecord](repeating: record, count: records)), asOf: .now)
    }

    @Test("it takes no more than its bytes, and keeps who was asked for") func bounds() {
        // Two halves of ten devices with one token each.
        var memory = TokenMemory(bytes: 2 * 10 * known(1).size)
        for device in 1...1000 as ClosedRange<Int64> {
            memory.insert(known(1), for: device)
            #expect(memory.find(1) != nil, "it is asked for all the time")
            #expect(memory.count <= 20)
        }
        #expect(memory.find(1000) != nil && memory.find(500) == nil)
        // Those with many tokens take the place of many.
        for device in 2000..<2010 as Range<Int64> {
            memory.insert(known(9), for: device)
            #expect(memory.count <= 20)
        }
        #expect(memory.find(2009)?.tokens.records.count == 9)
        memory.remove(2009)
        #expect(memory.find(2009) == nil)
        for device in 1...2010 as ClosedRange<Int64> { memory.remove(device) }
        #expect(memory.count == 0)
    }
}
