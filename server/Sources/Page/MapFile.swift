internal import FoundationEssentials
internal import Glibc
internal import SQLite
internal import Synchronization

/// A file with the pictures of a map: MBTiles 1.3 (https://github.com/mapbox/mbtiles-spec), of which the tiles are images.
///
/// It is read only, and opened anew when another file has taken its place. What it says about itself is read once.
package final class MapFile: Sendable {
    /// Why a file is of no use as a map, and what to do.
    package struct Unusable: Error, Equatable {
        package let reason: String
    }

    /// One picture, as a browser gets it.
    package struct Tile: Sendable {
        package let bytes: [UInt8]
        package let mediaType: String
    }

    /// What a file says about itself.
    struct Description: Equatable, Sendable {
        let mediaType: String
        let zooms: ClosedRange<Int>
        /// West, south, east and north, in degrees.
        let bounds: [Double]
        /// Whom the map has to name; empty: nobody.
        let attribution: String
    }

    /// Which file it is, and of when: a file that has changed has another.
    private struct Version: Equatable {
        let device: UInt
        let inode: UInt
        let size: Int
        let seconds: Int
        let nanoseconds: Int

        init?(of path: String) {
            var status = stat()
            guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
            (device, inode, size) = (UInt(status.st_dev), UInt(status.st_ino), Int(status.st_size))
            (seconds, nanoseconds) = (status.st_mtim.tv_sec, status.st_mtim.tv_nsec)
        }

        var text: String { "\(device)-\(inode)-\(size)-\(seconds)-\(nanoseconds)" }
    }

    private struct Opened: ~Copyable {
        let version: Version
        let connection: Connection
        let statement: Statement
        let description: Description

        /// - Parameters:
        ///   - row: counted from the south, as the file does.
        ///   - seconds: that it may take.
        func tile(zoom: Int, column: Int, row: Int, within seconds: Double) -> MapFile.Tile? {
            guard description.zooms.contains(zoom) else { return nil }
            let deadline = ContinuousClock.now + .seconds(seconds)
            connection.goOn(every: 10_000) { ContinuousClock.now < deadline }
            defer { statement.reset() }
            guard
                (try? statement.bind([.integer(Int64(zoom)), .integer(Int64(column)), .integer(Int64(row))]))
                    != nil,
                (try? statement.step()) == true
            else { return nil }
            let bytes = statement.blob(0)
            return bytes.isEmpty ? nil : MapFile.Tile(bytes: bytes, mediaType: description.mediaType)
        }
    }

    /// Bytes of a tile, and of what the file says about itself. A picture of 512 × 512 dots has some 100,000.
    private static let longest: Int32 = 1 << 20
    /// Entries of its description that are looked at.
    private static let mostEntries = 200
    /// Seconds that a look for a tile may take: one without an index is a search through the whole file.
    private static let patience = 2.0
    /// Zooms that a tile can have: at 22 a dot is 4 cm wide.
    private static let zooms = 0...22
    private static let mediaTypes = [
        "png": "image/png", "jpg": "image/jpeg", "jpeg": "image/jpeg", "webp": "image/webp",
    ]

    private let path: String
    private let patience: Double
    private let opened: Mutex<Opened>
    let description: Description
    /// Identifies the file that was there at the start.
    let version: String

    /// - Throws: `Unusable` when the file cannot be read, or holds no images.
    package convenience init(path: String) throws(Unusable) {
        try self.init(path: path, patience: Self.patience)
    }

    /// - Parameter patience: seconds that a look for a tile may take.
    init(path: String, patience: Double) throws(Unusable) {
        let opened = try Self.open(path)
        self.path = path
        self.patience = patience
        description = opened.description
        version = opened.version.text
        self.opened = Mutex(opened)
    }

    private static func open(_ path: String) throws(Unusable) -> sending Opened {
        // SQLite follows no links here; the operator's own may.
        guard let resolved = realpath(path, nil) else {
            throw Unusable(reason: "\(path): \(String(cString: strerror(errno)))")
        }
        defer { free(resolved) }
        guard let version = Version(of: path) else { throw Unusable(reason: "\(path) is no file") }
        do {
            let connection = try Connection(path: String(cString: resolved), access: .readOnly)
            connection.limit(values: longest)
            let description = try describe(connection, path)
            let statement = try connection.prepare(
                "SELECT tile_data FROM tiles WHERE zoom_level = ? AND tile_column = ? AND tile_row = ?")
            return Opened(
                version: version, connection: connection, statement: statement, description: description)
        } catch let error as SQLiteError {
            throw Unusable(reason: "\(path) cannot be read as MBTiles: \(error.message)")
        } catch let error as Unusable {
            throw error
        } catch {
            throw Unusable(reason: "\(path) cannot be read")
        }
    }

    private static func describe(_ connection: Connection, _ path: String) throws -> Description {
        var entries: [String: String] = [:]
        let statement = try connection.prepare("SELECT name, value FROM metadata LIMIT \(mostEntries)")
        while try statement.step() {
            if let name = statement.text(0), let value = statement.text(1) { entries[name] = value }
        }
        let format = entries["format"]?.lowercased() ?? ""
        if format == "pbf" {
            throw Unusable(
                reason:
                    "\(path) holds vector tiles (pbf), and the page shows images: make a file of PNG images, "
                    + "as with server/tiles/make-tiles")
        }
        guard let mediaType = mediaTypes[format] else {
            throw Unusable(
                reason:
                    "\(path) holds tiles of the format '\(format.prefix(20))': png, jpg and webp can be shown"
            )
        }
        return Description(
            mediaType: mediaType, zooms: try zooms(entries, connection, path),
            bounds: bounds(entries["bounds"] ?? ""),
            attribution: String(withoutTags(entries["attribution"] ?? "").prefix(500)))
    }

    private static func zooms(
        _ entries: [String: String], _ connection: Connection, _ path: String
    ) throws -> ClosedRange<Int> {
        let stated = ["minzoom", "maxzoom"].map { entries[$0].flatMap { Int($0) } }
        // As the files of some programs lack them.
        let (least, most) =
            if let least = stated[0], let most = stated[1] {
                (least, most)
            } else {
                (
                    try connection.value("SELECT min(zoom_level) FROM tiles").flatMap { Int($0) } ?? -1,
                    try connection.value("SELECT max(zoom_level) FROM tiles").flatMap { Int($0) } ?? -1
                )
            }
        guard zooms.contains(least), zooms.contains(most), least <= most else {
            throw Unusable(reason: "\(path) has no tiles of zooms 0 to 22")
        }
        return least...most
    }

    /// `west,south,east,north`; the whole world where that makes no sense.
    private static func bounds(_ text: String) -> [Double] {
        let numbers = text.split(separator: ",").compactMap { Double($0.filter { $0 != " " }) }
        guard numbers.count == 4, numbers.allSatisfy(\.isFinite), numbers[0] < numbers[2],
            numbers[1] < numbers[3],
            (-180...180).contains(numbers[0]), (-90...90).contains(numbers[1]), numbers[2] <= 180,
            numbers[3] <= 90
        else { return [-180, -85.0511, 180, 85.0511] }
        return numbers
    }

    /// The specification allows HTML; the page shows text.
    static func withoutTags(_ html: String) -> String {
        var text = ""
        var isTag = false
        for character in html {
            switch character {
            case "<": isTag = true
            case ">" where isTag: isTag = false
            default: if !isTag { text.append(character) }
            }
        }
        for (name, character) in [
            ("&copy;", "©"), ("&nbsp;", " "), ("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&"),
        ] {
            text = text.replacing(name, with: character)
        }
        return text
    }

    /// What the page has to know of it, as JSON. The address names the version: a browser that keeps pictures asks for those of
    /// another file.
    var pageText: String {
        let digest = PageFile.digest(of: Array(version.utf8))
        let bounds = description.bounds.map { String($0) }.joined(separator: ",")
        return #"{"url":"/v1/map/{z}/{x}/{y}?v=\#(digest)","zooms":[\#(description.zooms.lowerBound),"#
            + #"\#(description.zooms.upperBound)],"bounds":[\#(bounds)]}"#
    }

    // MARK: Tiles

    /// Which tile of which file this is: other bytes have another.
    package func tag(zoom: Int, column: Int, row: Int) -> String {
        "\"\((Version(of: path)?.text ?? version))/\(zoom)/\(column)/\(row)\""
    }

    /// One tile, by the scheme of the web: rows are counted from the north. Waits for the disk.
    ///
    /// - Returns: nil when the file has none there, or gives none.
    package func tile(zoom: Int, column: Int, row: Int) -> Tile? {
        guard Self.zooms.contains(zoom), (0..<1 << zoom).contains(column), (0..<1 << zoom).contains(row)
        else {
            return nil
        }
        return opened.withLock { opened in
            if let now = Version(of: path), now != opened.version, let other = try? Self.open(path) {
                opened = other
            }
            return opened.tile(zoom: zoom, column: column, row: (1 << zoom) - 1 - row, within: patience)
        }
    }
}
