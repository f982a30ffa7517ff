import Base
import Envelope
import FoundationEssentials

@testable import DaemonConfiguration
@testable import Upload

/// What of a request the laws are about, whatever its format.
struct SentBatch {
    let id: String
    /// Ids of its rows, and of its events of geofences.
    let rows: [String]
    /// Unpacked.
    let text: [UInt8]

    /// - Returns: nil for what no daemon sends.
    init?(_ body: [UInt8], _ options: HTTPOptions, _ format: Format) {
        let isPacked = options.headers.contains("Content-Encoding: gzip")
        guard let text = isPacked ? Gunzip.beginning(of: body, limit: 1 << 20) : body else { return nil }
        // Without the room that unpacking has left: thousands of bodies are kept.
        self.text = text.withUnsafeBufferPointer { Array($0) }
        let data = Data(text)
        let key = options.headers.first { $0.hasPrefix("Idempotency-Key: ") }?.split(separator: " ").last
        let json = JSONDecoder()
        switch format {
        case .beekon:
            guard let batch = try? json.decode(BeekonBatch.self, from: data) else { return nil }
            (id, rows) = (batch.id, (batch.locations + batch.crossings).map(\.id))
        case .overland:
            guard let key, let batch = try? json.decode(OverlandBatch.self, from: data) else { return nil }
            (id, rows) = (String(key), batch.locations.map(\.properties.id))
        case .owntracks:
            guard let key, let message = try? json.decode(Message.self, from: data) else { return nil }
            (id, rows) = (String(key), [message.id])
        case .template:
            guard let key, let batch = try? json.decode(TemplateBatch.self, from: data) else { return nil }
            (id, rows) = (String(key), batch.location.map(\.uuid))
        // A query does not say which row it is.
        case .osmand: return nil
        }
    }

    private struct Row: Decodable { let id: String }

    private struct BeekonBatch: Decodable {
        let id: String
        let locations: [Row]
        let crossings: [Row]

        private enum CodingKeys: String, CodingKey {
            case id = "batch_id"
            case locations
            case crossings = "geofence_events"
        }
    }

    private struct OverlandBatch: Decodable {
        struct Feature: Decodable { let properties: Row }
        let locations: [Feature]
    }

    private struct Message: Decodable {
        let id: String

        private enum CodingKeys: String, CodingKey { case id = "_id" }
    }

    private struct TemplateBatch: Decodable {
        struct Record: Decodable { let uuid: String }
        let location: [Record]
    }
}
