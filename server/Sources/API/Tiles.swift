internal import HTTPTypes
internal import Hummingbird
internal import NIOCore
internal import NIOPosix
internal import Page

/// Pictures of the map, of the operator's own file, for who is logged in: they say where somebody looks.
struct Tiles: Sendable {
    /// nil: there is none.
    let map: MapFile?

    /// `GET /v1/map/12/2200/1343`
    ///
    /// A browser may keep a picture for a day, and asks by its tag then.
    func answer(
        _ request: Request, zoom: TileZoom, column: TileIndex, row: TileIndex
    ) async throws -> Response {
        guard let map else { throw Problem.notFound("This server has no map file.") }
        let (zoom, column, row) = (zoom.value, column.value, row.value)
        let shown = request.headers[.ifNoneMatch]
        return try await NIOThreadPool.singleton.runIfActive {
            let tag = map.tag(zoom: zoom, column: column, row: row)
            var headers: HTTPFields = [.eTag: tag, .cacheControl: "private, max-age=86400"]
            if shown == tag { return Response(status: .notModified, headers: headers) }
            // What is beneath shows where there is none.
            guard let tile = map.tile(zoom: zoom, column: column, row: row) else {
                return Response(status: .noContent, headers: headers)
            }
            headers[.contentType] = tile.mediaType
            return Response(
                status: .ok, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(bytes: tile.bytes)))
        }
    }
}
