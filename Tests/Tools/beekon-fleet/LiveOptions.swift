import ArgumentParser
import Glibc

struct LiveOptions: ParsableArguments {
    @Option(help: .init("Send to this server instead of a model.", valueName: "url"))
    var url: String?

    @Option(help: .init("A file with an access token a line, one for each vehicle.", valueName: "file"))
    var tokens: String?

    @Option(help: .init("Let time pass this many times faster.", valueName: "x"))
    var speedUp = 1.0

    func validate() throws {
        guard (1...3600).contains(speedUp) else {
            throw ValidationError("--speed-up \(speedUp) is out of range: give 1 to 3600.")
        }
        if (url == nil) != (tokens == nil) {
            throw ValidationError("A real server needs both --url and --tokens.")
        }
    }

    /// - Throws: `Failure` when there are not as many.
    func read(count: Int) throws -> [String] {
        let path = tokens ?? ""
        guard let file = fopen(path, "r") else {
            throw Failure(
                66, "cannot read \(path): \(Failure.reason). Give --tokens a file with a token a line.")
        }
        defer { fclose(file) }
        var found: [String] = []
        var line = [CChar](repeating: 0, count: 1024)
        while found.count < count, fgets(&line, Int32(line.count), file) != nil {
            let bytes = line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }.filter { $0 > 32 }
            if !bytes.isEmpty { found.append(String(decoding: bytes, as: UTF8.self)) }
        }
        guard found.count == count else {
            throw Failure(65, "\(path) has \(found.count) tokens for \(count) vehicles: add the others.")
        }
        return found
    }
}
