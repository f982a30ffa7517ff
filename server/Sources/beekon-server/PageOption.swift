import ArgumentParser
import FoundationEssentials
import Glibc
import Page

/// The page for people, and what its map shows.
struct PageOption: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The files of the page; 'none' serves none. (Environment: BEEKON_SERVER_PAGE)",
            valueName: "folder"))
    var page: String?

    @Option(
        help: ArgumentHelp(
            "A file with the pictures of the page's map: MBTiles, images and no vectors. (Environment: BEEKON_SERVER_MAP)",
            valueName: "file"))
    var map: String?

    @Option(
        help: ArgumentHelp(
            "Where the page's map takes tiles from, such as https://tile.example.org/{z}/{x}/{y}.png; without these and a file, it draws coasts and borders. (Environment: BEEKON_SERVER_TILES)",
            valueName: "url"))
    var tiles: String?

    @Option(
        help: ArgumentHelp(
            "Attribution of the map's tiles; an address at its end becomes a link. (Environment: BEEKON_SERVER_TILES_ATTRIBUTION)",
            valueName: "text"))
    var tilesAttribution: String?

    /// Where the package installs the page.
    private static let installed = "/usr/share/beekon-server/page"
    /// Where Debian's libjs-leaflet is.
    private static let leaflet = "/usr/share/javascript/leaflet"

    /// The file of the map.
    ///
    /// - Returns: nil when none is wanted.
    func loadMap(_ settings: Settings) throws(MapFile.Unusable) -> MapFile? {
        let path = map ?? Environment["BEEKON_SERVER_MAP"] ?? settings.map ?? ""
        return path.isEmpty ? nil : try MapFile(path: path)
    }

    /// - Parameters:
    ///   - settings: those of the file; the environment and the command line go before them.
    ///   - map: what the page shows of a map of our own.
    /// - Returns: nil when none is wanted.
    /// - Throws: `FleetPage.Missing` when its files are not there, `Failure` for an option that cannot be.
    func load(_ settings: Settings, map: MapFile?) throws -> FleetPage? {
        let source: TileSource?
        do throws(TileSource.Invalid) {
            let url = tiles ?? Environment["BEEKON_SERVER_TILES"] ?? settings.tiles ?? ""
            let attribution =
                tilesAttribution ?? Environment["BEEKON_SERVER_TILES_ATTRIBUTION"] ?? settings
                .tilesAttribution
                ?? ""
            source = url.isEmpty ? nil : try TileSource(url: url, attribution: attribution)
        } catch {
            throw Failure("tiles: not an address of tiles: \(error.reason)")
        }
        let chosen = page ?? Environment["BEEKON_SERVER_PAGE"] ?? settings.page ?? ""
        if chosen == "none" { return nil }
        let folder = chosen.isEmpty ? Self.besideBuild ?? Self.installed : chosen
        return try FleetPage(folder: folder, leaflet: Self.leaflet, tiles: source, map: map)
    }

    /// The files as they are edited, for a program that has not been installed: beside the folder that it was built in.
    private static var besideBuild: String? {
        guard let program = realpath("/proc/self/exe", nil) else { return nil }
        defer { free(program) }
        let parts = String(cString: program).split(separator: "/")
        guard let build = parts.lastIndex(of: ".build") else { return nil }
        let folder = "/" + parts[..<build].joined(separator: "/") + "/www/files"
        return access(folder + "/index.html", R_OK) == 0 ? folder : nil
    }
}
