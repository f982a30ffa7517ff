import Base
import EnvelopeReader

/// Text of an envelope, whose parts a test replaces.
enum Samples {
    static let batch = "0190d4e2-7b1a-7c3e-9f10-2a4b6c8d0e1f"
    static let location =
        #"{"id":"0190d4e2-7b1a-7c3e-9f10-2a4b6c8d0e20","timestamp":"2026-06-15T12:34:10.000Z","trigger":"interval","#
        + #""motion":"moving","is_mock":false,"latitude":37.7749,"longitude":-122.4194,"accuracy":5.2,"speed":2.5,"#
        + #""bearing":180,"altitude":14.3,"activity":"automotive","quality":"low_accuracy"}"#
    static let event =
        #"{"id":"0190d4e2-7b1a-7c3e-9f10-2a4b6c8d0e30","geofence_id":"home","type":"exit","#
        + #""timestamp":"2026-06-15T12:34:05.000Z"}"#

    static func envelope(locations: [String] = [location], events: [String] = [event], more: String = "")
        -> String
    {
        #"{"schema_version":1,"batch_id":"\#(batch)","session_id":"0190d4e0-1234-7000-8000-aabbccddeeff","#
            + #""sent_at":"2026-06-15T12:34:56.789Z","device":{"install_id":"0190c1a4-aaaa-7bbb-8ccc-ddddeeeeffff","#
            + #""platform":"linux","sdk_version":"0.1.0","model":"Raspberry Pi 4"},"extras":{"user_id":"truck-12"},"#
            + #""locations":[\#(locations.joined(separator: ","))],"#
            + #""geofence_events":[\#(events.joined(separator: ","))]\#(more)}"#
    }

    static func read(_ text: String, limits: Limits = Limits()) throws(Fault) -> Batch {
        var result: Result<Batch, Fault>?
        Array(text.utf8).withUnsafeBytes { bytes in
            result = Result { () throws(Fault) in try BatchReader.read(bytes, limits: limits) }
        }
        guard let result else { throw Fault(reason: "was not read") }
        return try result.get()
    }

    static func fault(_ text: String, limits: Limits = Limits()) -> Fault? {
        do throws(Fault) {
            _ = try read(text, limits: limits)
            return nil
        } catch {
            return error
        }
    }
}
