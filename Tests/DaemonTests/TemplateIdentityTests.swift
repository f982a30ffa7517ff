import DaemonConfiguration
import Envelope
import Testing

@testable import Daemon

/// An upgrade must not dissolve what is frozen, so what an earlier version wrote down of settings that it knew stays the same.
@Suite("what decides the bytes of a template, as earlier versions wrote it down") struct TemplateIdentityTests
{
    private static let point = #"{"a": <%= latitude %>}"#
    private static let fence = #"{"f": "<%= geofence.identifier %>"}"#

    private func settings(
        root: String = "location", params: [String: BodyFields.Value] = [:],
        extras: TemplateShape.ExtrasPlace = .record, batchSize: Int = 100
    ) throws -> Settings.Template {
        Settings.Template(
            shape: try TemplateShape(
                rootProperty: root, params: BodyFields(params), extras: extras, batchSize: batchSize,
                location: Template(Self.point, for: .location), geofence: Template(Self.fence, for: .geofence)
            ))
    }

    @Test("settings of before have the identity of before") func same() throws {
        let records = "22 \(Self.point) 35 \(Self.fence)"
        #expect(
            Settings.Format.template(try settings()).identity
                == " template POST false 8 location 0  6 record 4 true \(records)")
        var other = try settings(
            root: ".", params: ["k": .integer(1)], extras: .none, batchSize: 1)
        (other.method, other.compress, other.deviceID) = (.patch, true, "van-1")
        #expect(
            Settings.Format.template(other).identity
                == " template PATCH true 1 . 6 ,\"k\":1 4 none 5 false \(records)")
        #expect(Settings.Format.template(other).fingerprint == "template van-1".fingerprint)
        #expect("template van-1".fingerprint == 3_567_597_383_150_741_504)
    }

    @Test("what came later makes another identity") func other() throws {
        let form = try TemplateShape(
            params: BodyFields(), batchSize: 1,
            location: Template(Self.point, for: .location, as: .form), geofence: nil)
        var settings = [Settings.Template(shape: form), Settings.Template(shape: form)]
        settings[1].contentType = "text/plain"
        var query = Settings.Template(
            shape: try TemplateShape(
                params: BodyFields(), batchSize: 1, isQuery: true,
                location: Template(Self.point, for: .location, as: .form), geofence: nil))
        query.method = .get
        let line = "m a=1 <%= timestamp.seconds %>"
        let text = Settings.Template(
            shape: try TemplateShape(
                params: BodyFields(), batchSize: 1, location: Template(line, for: .location, as: .text),
                geofence: nil))
        let json = Settings.Template(
            shape: try TemplateShape(
                rootProperty: ".", params: BodyFields(), batchSize: 1,
                location: Template(Self.point, for: .location), geofence: Template(Self.fence, for: .geofence)
            ))
        let identities = (settings + [query, text, json]).map { Settings.Format.template($0).identity }
        #expect(Set(identities).count == identities.count)
    }
}
