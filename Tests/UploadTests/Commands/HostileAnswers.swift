import Base
import Foundation
import Testing
import Tracking

@testable import DaemonConfiguration
@testable import Envelope
@testable import Upload

/// Answers of servers that mean harm, or know no better, and what must become of each.
struct HostileAnswer: Sendable, CustomTestStringConvertible {
    /// What is heard of it, and what becomes of that.
    enum Fate: Equatable, Sendable {
        /// The answer is not listened to.
        case unheard
        case refused(CommandListRefusal.Kind)
        /// The commands of the answer are heard, and each is refused.
        case each(CommandError.Kind)
    }

    let name: String
    let answer: Answer
    let sync: Settings.Sync
    let fate: Fate

    var testDescription: String { name }

    private init(
        _ name: String, _ fate: Fate, _ answer: Answer, _ sync: Settings.Sync = CommandSamples.sync()
    ) {
        self.name = name
        self.fate = fate
        self.answer = answer
        self.sync = sync
    }

    private init(_ name: String, _ fate: Fate, _ body: String, _ sync: Settings.Sync = CommandSamples.sync())
    {
        self.init(name, fate, CommandSamples.answer(body.utf8), sync)
    }

    private static let stop = #"{"id":"1","command":"stop"}"#
    /// Each would stop this vehicle, if it were heard.
    private static let good = [
        "{\"commands\":[\(stop)]}", #"{"background_geolocation":[["stop"]]}"#,
        #"{"background_geolocation":["stop"]}"#,
    ]

    static let all: [HostileAnswer] =
        statuses + ways + pages + depths + sizes + cutOff + types + names + commands + arguments + settings
        + signatures + changes

    // MARK: Where it came

    /// A command in a refusal, in a redirect, in anything but a 2xx.
    private static let statuses =
        (Array(300...308) + Array(400...431) + Array(500...511) + [101, 199, 600, 0])
        .flatMap { status in
            good.map {
                HostileAnswer("\(status) \($0)", .unheard, CommandSamples.answer($0.utf8, status: status))
            }
        }

    private static let ways = good.flatMap { body in
        [
            HostileAnswer(
                "plain http", .unheard, body,
                CommandSamples.sync("http://a.example/") { $0.allowInsecureHTTP = true }),
            HostileAnswer(
                "http by a proxy", .unheard, body,
                CommandSamples.sync("http://127.0.0.1/") { $0.proxy = "http://p.example:1" }),
            HostileAnswer("a live lane", .unheard, body, CommandSamples.sync { $0.deliver = .latest }),
            HostileAnswer("not enabled", .unheard, body, CommandSamples.sync { $0.commands = nil }),
            HostileAnswer("no url", .unheard, body, CommandSamples.sync("") { _ in }),
            HostileAnswer("a broker", .unheard, body, CommandSamples.sync("mqtts://a.example") { _ in }),
        ]
    }

    private static let pages = good.flatMap { body in
        [
            HostileAnswer("a page", .unheard, "<!doctype html>" + body),
            HostileAnswer(
                "compressed", .refused(.compressed),
                CommandSamples.answer(body.utf8, headers: ["Content-Encoding: gzip"])),
            HostileAnswer(
                "too large", .refused(.tooLarge), CommandSamples.answer(body.utf8, isCut: true)),
        ]
    }

    // MARK: How it is made

    private static let depths = [17, 18, 20, 31, 32, 33, 64, 1000, 15_000].flatMap { levels in
        let list = String(repeating: "[", count: levels) + String(repeating: "]", count: levels)
        let object =
            String(repeating: #"{"a":"#, count: min(levels, 9000)) + "1"
            + String(repeating: "}", count: min(levels, 9000))
        return [list, object].flatMap { deep in
            [
                #"{"x":\#(deep),"commands":[\#(stop)]}"#, #"{"commands":[\#(stop),\#(deep)]}"#,
                #"{"commands":[{"id":"1","command":"stop","arguments":\#(deep)}]}"#,
                #"{"background_geolocation":[["start",\#(deep)]]}"#,
                #"{"background_geolocation":\#(deep)}"#,
            ].map { HostileAnswer("\(levels) levels \($0.prefix(60))", .refused(.malformed), $0) }
        }
    }

    private static let sizes = [17, 18, 64, 65, 100, 500, 1000].flatMap { count in
        [
            HostileAnswer(
                "\(count) commands", .refused(.tooMany),
                "{\"commands\":[\((0..<count).map { #"{"id":"\#($0)","command":"stop"}"# }.joined(separator: ","))]}"
            ),
            HostileAnswer(
                "\(count) of the guide's", .refused(.tooMany),
                "{\"background_geolocation\":[\(Array(repeating: #"["stop"]"#, count: count).joined(separator: ","))]}"
            ),
        ]
    }

    /// Every beginning of a body that names commands, and what is no JSON in other ways.
    private static let cutOff: [HostileAnswer] = {
        let bodies = good.flatMap { body in
            let least = body.utf8.count - body.utf8.reversed().prefix { $0 != UInt8(ascii: ":") }.count
            return (20..<body.utf8.count).compactMap { count -> String? in
                let cut = String(body.prefix(count))
                return cut.contains("commands\"") || cut.contains("geolocation\"") ? cut : nil
            }
                + (least > 0
                    ? [
                        body + "}", body + body, body + ",", "\u{1}" + body,
                        body.replacing("\"", with: "'") + "\"commands\"",
                    ] : [])
        }
        let others = [
            #"{"commands":[{"id":"1","id":"2","command":"stop"}]}"#,
            #"{"commands":[{"id":"1","command":"start","command":"stop"}]}"#,
            #"{"commands":[\#(stop)],"commands":[]}"#,
            #"{"batch_id":"a","batch_id":"b","commands":[\#(stop)]}"#,
            #"{"commands":[{"id":"1","command":"stop","arguments":{"a":1,"\u0061":2}}]}"#,
            #"{"commands":[\#(stop)],"background_geolocation":["stop"]}"#,
            #"{"commands":[{"id":"1","command":"st\ud800op"}]}"#, #"{"commands":[\#(stop),]}"#,
            #"{commands:[\#(stop)],"commands":[]}"#, "{\"commands\":[\(stop)]}\u{0}",
        ]
        return (bodies + others).map { HostileAnswer("cut \($0.suffix(40))", .refused(.malformed), $0) }
            + [
                HostileAnswer(
                    "not UTF-8", .refused(.malformed),
                    CommandSamples.answer(Array(good[0].utf8.dropLast(2)) + [0xFF] + Array("]}".utf8)))
            ]
    }()

    private static let wrongValues = ["true", "0", "1.5", #""x""#, "{}", #"["stop"]"#, "[null]", "[[]]"]

    /// Values of other types where a list, a command, an id or a name is to be.
    private static let types: [HostileAnswer] = {
        var texts = ["true", "0", #""stop""#, "{}", #"{"0":\#(stop)}"#].map { #"{"commands":\#($0)}"# }
        texts += wrongValues.map { #"{"commands":[\#($0)]}"# }
        let long = "\"\(String(repeating: "i", count: 129))\""
        for id in ["true", "17", "{}", "[]", "null", #""""#, #""a b""#, #""ä""#, #""\n""#, long] {
            texts.append(#"{"commands":[{"id":\#(id),"command":"stop"}]}"#)
            texts.append(#"{"commands":[\#(stop),{"id":\#(id),"command":"stop"}]}"#)
        }
        texts += ["true", "17", "{}", "[]", "null"].map { #"{"commands":[{"id":"1","command":\#($0)}]}"# }
        texts += [#"{"commands":[{"command":"stop"}]}"#, #"{"commands":[{"id":"1"}]}"#]
        texts += ["true", "0", #""stop""#, "{}", #"{"0":["stop"]}"#].map {
            #"{"background_geolocation":\#($0)}"#
        }
        texts += ["true", "0", "{}", "[]", #""stop""#, "[7]", "[[]]", "[null]"].map {
            #"{"background_geolocation":[["stop"],\#($0)]}"#
        }
        return texts.map { HostileAnswer("type \($0.prefix(70))", .refused(.malformed), $0) }
    }()

    // MARK: What it asks for

    private static let names: [HostileAnswer] =
        [
            "delete", "delete_locations", "erase", "wipe", "reset", "purge_rejected", "seed_auth", "set_auth",
            "set_token", "set_url", "reload", "exec", "shell", "reboot", "shutdown", "update", "upgrade",
            "backfill",
            "forget_destination", "resend", "rebatch", "set_extras", "configure", "Start", "STOP", "start ",
            " stop",
            "", "stop\u{0}", "start\n", "ѕtop", "destroy_log", "list_geofences", "add_geofence", "subscribe",
            "get_status",
            "../stop", "stop;start", "commands", "\u{202E}pots", String(repeating: "s", count: 60_000),
        ].flatMap { name -> [HostileAnswer] in
            var bytes: [UInt8] = []
            JSONString.append(name, to: &bytes)
            let text = String(decoding: bytes, as: UTF8.self)
            return [
                HostileAnswer(
                    "command \(name.prefix(20))", .each(.unknownCommand),
                    #"{"commands":[{"id":"1","command":\#(text)}]}"#),
                HostileAnswer(
                    "guide's \(name.prefix(20))", .each(.unknownCommand),
                    #"{"background_geolocation":[[\#(text)]]}"#),
            ]
        } + [
            HostileAnswer("destroyLog", .each(.unsupported), #"{"background_geolocation":["destroyLog"]}"#)
        ]

    /// Nothing is allowed, or only something else.
    private static let commands = Settings.Commands.Name.allCases.flatMap { name -> [HostileAnswer] in
        let arguments =
            switch name {
            case .setConfig: #"{"settings":{"tracking.interval_seconds":5}}"#
            case .unsetConfig: #"{"keys":["tracking.interval_seconds"]}"#
            case .addGeofences: #"{"geofences":[{"id":"a","latitude":1,"longitude":2,"radius_meters":9}]}"#
            case .removeGeofences: #"{"ids":["a"]}"#
            case .setMotion: #"{"motion":"moving"}"#
            default: "{}"
            }
        let body = #"{"commands":[{"id":"1","command":"\#(name.rawValue)","arguments":\#(arguments)}]}"#
        return [CommandSamples.rules { $0.allow = [] }, CommandSamples.rules { $0.allow.remove(name) }].map {
            HostileAnswer(
                "not allowed \(name)", .each(.notAllowed), body, CommandSamples.sync("https://a.example", $0))
        }
    }

    private static let arguments = Settings.Commands.Name.allCases.flatMap { name in
        [
            "true", "0", #""x""#, "[]", "[1]", #"{"force":true}"#, #"{"settings":[]}"#,
            #"{"ids":{},"keys":{}}"#,
        ].map {
            let body = #"{"commands":[{"id":"1","command":"\#(name.rawValue)","arguments":\#($0)}]}"#
            return HostileAnswer("arguments \(name) \($0)", .each(.invalidArguments), body)
        } + [
            HostileAnswer(
                "member \(name)", .each(.invalidArguments),
                #"{"commands":[{"id":"1","command":"\#(name.rawValue)","sudo":true}]}"#)
        ]
    }

    /// Every setting that no server may have, and what is none.
    private static let settings: [HostileAnswer] =
        Key.all.filter { Rules.serverSetting($0.isOpen ? $0.name + ".x" : $0.name) != nil }.flatMap { key in
            let name = key.isOpen ? key.name + ".x" : key.name
            // Even what the files name by mistake, which they cannot, would have to be told by the rights.
            return [
                #"{"commands":[{"id":"1","command":"set_config","arguments":{"settings":{"\#(name)":1}}}]}"#,
                #"{"commands":[{"id":"1","command":"unset_config","arguments":{"keys":["\#(name)"]}}]}"#,
            ].map { HostileAnswer("setting \(name)", .each(.settingNotAllowed), $0) }
        }
        + ["", "x", "sync", "tracking", "tracking.colour", "__proto__", "sync.url\\u0000"].map {
            HostileAnswer(
                "no setting \($0)", .each(.unknownSetting),
                #"{"commands":[{"id":"1","command":"set_config","arguments":{"settings":{"\#($0)":1}}}]}"#)
        }
        + [
            "url", "method", "headers", "params", "authorization", "autoSync", "batchSync",
            "maxDaysToPersist",
            "maxRecordsToPersist", "persistMode", "logLevel", "debug", "locationTemplate", "enabled",
            "isMoving",
        ].flatMap { name in
            [#"{"\#(name)":"x"}"#, #"{"http":{"\#(name)":"x"}}"#, #"{"distanceFilter":5,"\#(name)":1}"#].map {
                HostileAnswer(
                    "guide's setting \($0)", .each(.unknownSetting),
                    #"{"background_geolocation":["setConfig",\#($0)]}"#)
            }
        }

    // MARK: Who it is from

    private typealias Signer = CommandSamples.Signer
    private static let signer = Signer(seed: 1)
    private static let keyed = CommandSamples.sync(
        "https://a.example", CommandSamples.rules { $0.verifyKeys = [signer.key] })

    private static let signatures: [HostileAnswer] = {
        let message = Array(Signer.message().utf8)
        let signature = signer.signature(of: message)
        let flipped = (0..<64).map { index in
            var other = signature
            other[index] ^= 0x80
            return HostileAnswer(
                "signature byte \(index)", .refused(.badSignature),
                signer.body(Signer.message(), signature: other), keyed)
        }
        let others: [HostileAnswer] = [
            HostileAnswer(
                "another key", .refused(.badSignature), Signer(seed: 9).body(Signer.message()), keyed),
            HostileAnswer("no keys here", .refused(.noKeys), signer.body(Signer.message())),
            HostileAnswer(
                "another vehicle", .refused(.otherVehicle), signer.body(Signer.message(vehicle: "b")), keyed),
            HostileAnswer(
                "no vehicle", .refused(.otherVehicle), signer.body(Signer.message(vehicle: "")), keyed),
            HostileAnswer(
                "a list within", .refused(.malformed), signer.body("[\(Signer.message())]"), keyed),
            HostileAnswer("nothing within", .refused(.malformed), signer.body(""), keyed),
            HostileAnswer(
                "a name twice within", .refused(.malformed),
                signer.body(Signer.message().replacing(",\"counter\"", with: ",\"counter\":1,\"counter\"")),
                keyed),
            HostileAnswer(
                "signed twice", .unheard, signer.body(signer.body(Signer.message())), keyed),
        ]
        // What is signed by nobody who may is not heard either.
        let unsigned = good.map { HostileAnswer("unsigned", .refused(.unsigned), $0, keyed) }
        let broken = [
            #"{"signed":true,"signature":"AA=="}"#, #"{"signed":"AA==","signature":7}"#,
            #"{"signed":"AA=="}"#,
            #"{"signed":"A","signature":"AA=="}"#, #"{"signed":"AA==","signature":"="}"#,
            #"{"signed":{"commands":[]},"signature":"AA=="}"#, #"{"signed":"AA ==","signature":"AA=="}"#,
        ].map { HostileAnswer("not Base64 \($0)", .refused(.malformed), $0, keyed) }
        let written = [
            "install_id": "\"\(CommandSamples.installID)\"", "counter": "\(CommandSamples.counter)",
            "expires_at": "1781000600",
        ]
        let members = written.flatMap { name, good in
            ["null", "{}", "[]", "true", "-1"].map { value in
                let text = Signer.message().replacing("\"\(name)\":\(good)", with: "\"\(name)\":\(value)")
                return HostileAnswer("\(name) \(value)", .refused(.malformed), signer.body(text), keyed)
            }
        }
        return flipped + others.filter { $0.name != "signed twice" } + unsigned + broken + members
    }()

    /// A signed message with a character changed on its way.
    private static let changes: [HostileAnswer] = {
        let message = Array(Signer.message().utf8)
        let signature = signer.signature(of: message)
        return message.indices.map { index in
            var other = message
            other[index] ^= 1
            return HostileAnswer(
                "changed at \(index)", .refused(.badSignature),
                signer.body(String(decoding: other, as: UTF8.self), signature: signature), keyed)
        }
    }()
}
