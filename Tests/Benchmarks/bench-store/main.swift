import Glibc
import Linux
import Storage
import Tracking

// What storing a fix costs: latency of its COMMIT, bytes written to the disk, syncs. `make bench` runs it.
//
//     bench-store DIRECTORY [FIXES [full]]     one JSON object a figure, each on a line; `full`: only one with no rows

guard CommandLine.arguments.count > 1 else { fail("usage: bench-store DIRECTORY [FIXES [full]]") }
let directory = CommandLine.arguments[1]
let fixes = CommandLine.arguments.dropFirst(2).first.flatMap { Int($0) } ?? 2000

do {
    if CommandLine.arguments.count > 3 {
        let bench = try Bench(directory: directory, rows: 0, durability: .full)
        report("full", try bench.commits(fixes))
        exit(0)
    }
    for durability in [StoreOptions.Durability.full, .normal] {
        for rows in [0, 99_000, 100_000] {
            let bench = try Bench(directory: directory, rows: rows, durability: durability)
            report("\(rows) rows stored, \(durability)", try bench.commits(fixes))
        }
    }
    let bench = try Bench(directory: directory, rows: 99_000, durability: .full)
    report("99,000 rows stored, full, alone", try bench.commits(fixes))
    try bench.withReader { pages in
        report("the same while history is read in pages", try bench.commits(fixes), pages: pages())
        report("10 a second while history is read", try bench.commits(100, perSecond: 10), pages: pages())
    }
} catch {
    fail("\(error)")
}

@Sendable func fail(_ message: String) -> Never {
    print("bench-store: \(message)")
    exit(1)
}

func report(_ name: String, _ cost: Cost, pages: Int? = nil) {
    func round(_ value: Double) -> Double { (value * 100).rounded() / 100 }
    let kilobytes = cost.bytes.map { "\(round(Double($0) / Double(cost.count) / 1024))" }
    var members = [
        "\"figure\":\"commit, \(name)\"", "\"fixes\":\(cost.count)",
        "\"p50_us\":\(round(cost.microseconds(0.5)))",
        "\"p99_us\":\(round(cost.microseconds(0.99)))", "\"max_us\":\(round(cost.microseconds(1)))",
        "\"kib_per_fix\":\(kilobytes ?? "null")", "\"wal_kib\":\(cost.log / 1024)",
    ]
    if let pages { members.append("\"pages_read\":\(pages)") }
    print("{" + members.joined(separator: ",") + "}")
}
