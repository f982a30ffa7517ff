import Glibc
import Linux
import Storage

// What storing a fix costs: latency and CPU of its COMMIT, bytes written to the disk. `make bench` runs it.
//
//     bench-store DIRECTORY commits FIXES ROWS [history | paced | drain BATCH URL…]
//     bench-store DIRECTORY cycles FIXES BATCH DESTINATIONS
//     bench-store DIRECTORY deliveries FIXES BATCH
//     bench-store DIRECTORY drain URL BATCH
//
// ROWS are stored before. With `history` another thread reads them meanwhile; with `drain` others upload them, one to each
// URL, FIXES come at 50 a second, and when all that was pending is uploaded somewhere it ends; with `paced` they come at 50 a
// second, and that is all. `cycles` stores BATCH fixes, delivers them to each destination, and begins again; `deliveries`
// delivers FIXES that were stored before, 0 for BATCH being one in a request of a format without batches. One JSON object.
// The last form uploads what the directory holds and does nothing else: for profiles.

let arguments = CommandLine.arguments
if arguments.count == 5, arguments[2] == "drain", let batch = Int(arguments[4]) {
    do {
        let cpu = try Bench.drain(directory: arguments[1], url: arguments[3], batch: batch)
        print("{\"cpu_s\":\(Double(cpu) / 1e9)}")
        exit(0)
    } catch {
        fail("\(error)")
    }
}
guard arguments.count >= 5, let fixes = Int(arguments[3]), let rows = Int(arguments[4]) else {
    fail("usage: see main.swift")
}

do {
    if arguments[2] == "cycles", arguments.count == 6, let destinations = Int(arguments[5]) {
        let bench = try Bench(
            directory: arguments[1], rows: 1, durability: .full, warmUp: 0, destinations: destinations)
        // Sees the WAL folded in once.
        _ = try bench.cycles(600 / rows * rows, batch: rows, destinations: destinations)
        report(try bench.cycles(fixes, batch: rows, destinations: destinations))
        exit(0)
    }
    if arguments[2] == "deliveries" {
        let bench = try Bench(
            directory: arguments[1], rows: fixes + 1000, durability: .full, warmUp: 0)
        report(try bench.deliveries(rows == 0 ? .rows : .batches(of: rows)))
        exit(0)
    }
    let mode = arguments.dropFirst(5).first
    let urls = mode == "drain" ? Array(arguments.dropFirst(7)) : []
    let bench = try Bench(
        directory: arguments[1], rows: rows, durability: .full, warmUp: mode == nil ? 1000 : 1,
        destinations: urls.count)
    switch mode {
    case nil: report(try bench.commits(fixes))
    case "history": try bench.withReader { pages in report(try bench.commits(fixes), pages: pages()) }
    case "paced": report(try bench.pacedCommits(fixes))
    case "drain":
        guard arguments.count >= 8, let batch = Int(arguments[6]) else { fail("drain needs BATCH and URL") }
        report(try bench.commitsWhileDraining(to: urls, batch: batch))
    default: fail("there is no such thing to measure")
    }
} catch {
    fail("\(error)")
}

@Sendable func fail(_ message: String) -> Never {
    print("bench-store: \(message)")
    exit(1)
}

func report(_ cost: Cost, pages: Int? = nil) {
    func round(_ value: Double) -> Double { (value * 100).rounded() / 100 }
    let kilobytes = cost.bytes.map { "\(round(Double($0) / Double(max(cost.count, 1)) / 1024))" }
    var members = [
        "\"fixes\":\(cost.count)", "\"p50_us\":\(round(cost.microseconds(0.5)))",
        "\"p99_us\":\(round(cost.microseconds(0.99)))", "\"max_us\":\(round(cost.microseconds(1)))",
        "\"cpu_us\":\(round(Double(cost.cpu) / Double(max(cost.count, 1)) / 1000))",
        "\"kib_per_fix\":\(kilobytes ?? "null")", "\"wal_kib\":\(cost.log / 1024)",
    ]
    if let pages { members.append("\"pages_read\":\(pages)") }
    print("{" + members.joined(separator: ",") + "}")
}
