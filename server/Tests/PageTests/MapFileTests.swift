import FoundationEssentials
import SQLite
import Testing

@testable import Page

@Suite("the file of the map") struct MapFileTests {
    let path = FileManager.default.temporaryDirectory.path + "/map-\(UInt64.random(in: 0 ... .max)).mbtiles"

    static let usual = [
        "format": "png", "minzoom": "2", "maxzoom": "4", "bounds": "13.0, 52.0, 14.0, 53.0",
        "attribution": #"&copy; <a href="https://example.org/copyright">Some &amp; others</a>"#,
    ]

    /// A file with this said about it, and one tile: zoom 3, column 1, and row 6 from the south.
    func make(
        _ metadata: [String: String] = usual, tile: [UInt8] = Array("picture".utf8), at path: String? = nil,
        tiles: String =
            "CREATE TABLE tiles (zoom_level INTEGER, tile_column INTEGER, tile_row INTEGER, tile_data BLOB)"
    ) throws {
        let connection = try Connection(path: path ?? self.path, access: .readWrite)
        try connection.execute("CREATE TABLE metadata (name TEXT, value TEXT); \(tiles)")
        for (name, value) in metadata {
            try connection.prepare("INSERT INTO metadata VALUES (?, ?)").run(.text(name), .text(value))
        }
        guard tiles.contains("TABLE") else { return }
        try connection.prepare("INSERT INTO tiles VALUES (3, 1, 6, ?)").run(.blob(tile))
    }

    @Test("what it says of itself, and a tile, whose rows it counts from the south") func tiles() throws {
        try make()
        let map = try MapFile(path: path)
        #expect(
            map.description
                == MapFile.Description(
                    mediaType: "image/png", zooms: 2...4, bounds: [13, 52, 14, 53],
                    attribution: "© Some & others"))
        let tile = try #require(map.tile(zoom: 3, column: 1, row: 1))
        #expect(tile.bytes == Array("picture".utf8) && tile.mediaType == "image/png")
        for (zoom, column, row) in [
            (3, 1, 6), (3, 2, 1), (2, 0, 0), (5, 1, 1), (3, -1, 1), (3, 8, 1), (-1, 0, 0), (63, 1, 1),
            (.max, 1, 1),
        ] {
            #expect(map.tile(zoom: zoom, column: column, row: row) == nil)
        }
        #expect(map.pageText.contains(#""zooms":[2,4],"bounds":[13.0,52.0,14.0,53.0]}"#))
    }

    @Test("zooms and bounds that it does not tell") func untold() throws {
        try make(["format": "jpg", "bounds": "0,0,0,nan"])
        let map = try MapFile(path: path)
        #expect(map.description.zooms == 3...3 && map.description.bounds == [-180, -85.0511, 180, 85.0511])
        #expect(map.description.mediaType == "image/jpeg")
    }

    @Test("another file in its place is read, and its tiles have other tags") func replaced() throws {
        try make()
        let map = try MapFile(path: path)
        let before = map.tag(zoom: 3, column: 1, row: 1)
        #expect(map.tile(zoom: 3, column: 1, row: 1)?.bytes == Array("picture".utf8))
        #expect(
            map.tag(zoom: 3, column: 1, row: 1) == before && map.tag(zoom: 3, column: 2, row: 1) != before)
        try make(tile: Array("other".utf8), at: path + ".new")
        try Data(contentsOf: URL(filePath: path + ".new")).write(to: URL(filePath: path), options: .atomic)
        #expect(map.tag(zoom: 3, column: 1, row: 1) != before)
        #expect(map.tile(zoom: 3, column: 1, row: 1)?.bytes == Array("other".utf8))
        // What is none is not taken in its place.
        try Data("no database".utf8).write(to: URL(filePath: path), options: .atomic)
        #expect(map.tile(zoom: 3, column: 1, row: 1)?.bytes == Array("other".utf8))
    }

    @Test(
        "what is refused, with what to do",
        arguments: [
            (["format": "pbf"], "vector tiles"), (["format": "tiff"], "'tiff'"), ([:], "''"),
            (["format": "png", "minzoom": "5", "maxzoom": "4"], "no tiles"),
            (["format": "png", "minzoom": "0", "maxzoom": "99"], "no tiles"),
        ]) func refusals(metadata: [String: String], word: String) throws
    {
        try make(metadata)
        let error = #expect(throws: MapFile.Unusable.self) { try MapFile(path: path) }
        #expect(error?.reason.contains(word) ?? false, "\(error?.reason ?? "")")
    }

    @Test("what is no such file") func others() throws {
        #expect(throws: MapFile.Unusable.self) { try MapFile(path: path) }
        try Data(String(repeating: "no database\n", count: 100).utf8).write(to: URL(filePath: path))
        #expect(throws: MapFile.Unusable.self) { try MapFile(path: path) }
        #expect(throws: MapFile.Unusable.self) { try MapFile(path: "/") }
        #expect(throws: MapFile.Unusable.self) { try MapFile(path: "/dev/zero") }
    }

    @Test("a tile without an end, and one that is too long") func hostile() throws {
        let endless = """
            CREATE VIEW tiles AS WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n)
            SELECT 3 AS zoom_level, 1 AS tile_column, 6 AS tile_row, x AS tile_data FROM n WHERE x < 0
            """
        try make(tiles: endless)
        #expect(try MapFile(path: path, patience: 0.05).tile(zoom: 3, column: 1, row: 1) == nil)
        try make(tile: [UInt8](repeating: 1, count: 2 << 20), at: path + ".long")
        #expect(try MapFile(path: path + ".long").tile(zoom: 3, column: 1, row: 1) == nil)
    }
}
