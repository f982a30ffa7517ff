import Base
import Foundation
import Testing
import Tracking

@testable import DaemonConfiguration
@testable import Envelope
@testable import Upload

@Suite("commands of the HTTP guide")
struct GuideCommandTests {
    private func content(
        _ command: String, from destination: DestinationName = .main
    ) throws -> ServerCommand.Content {
        let heard = try CommandSamples.commands(
            #"{"background_geolocation":[\#(command)]}"#, from: destination)
        return try #require(heard.commands.first).content
    }

    private func error(_ command: String) throws -> String? {
        if case .refused(let error) = try content(command) { error.text } else { nil }
    }

    @Test(
        "each of the eleven comes to one of ours, but for destroyLog",
        arguments: [
            (#"["start"]"#, .start), (#"["start",null]"#, .start), (#"["stop"]"#, .stop),
            (#"["startGeofences"]"#, .stop), (#"["changePace",true]"#, .setMotion(.moving)),
            (#"["changePace",false]"#, .setMotion(.stationary)),
            (#"["removeGeofence","a"]"#, .removeGeofences(["a"])),
            (#"["removeGeofences",["a","b"]]"#, .removeGeofences(["a", "b"])),
            (#"["removeGeofences"]"#, .removeAllGeofences),
            (#"["uploadLog","https://a.example/l"]"#, .uploadLog(url: "https://a.example/l")),
            (#"["uploadLog"]"#, .uploadLog(url: nil)),
        ] as [(String, ServerCommand.Request)])
    func commands(command: String, request: ServerCommand.Request) throws {
        #expect(try content(command) == .request(request))
    }

    @Test("its geofences name latitude before longitude, and notify of what they say alone")
    func geofences() throws {
        let circle = try Geofence(
            id: "Home", latitude: 45.5, longitude: -73.6, radius: 200, notifiesOnEntry: true,
            notifiesOnExit: false)
        let text =
            #"{"identifier":"Home","radius":200,"latitude":45.5,"longitude":-73.6,"notifyOnEntry":true,"hits":0}"#
        #expect(try content(#"["addGeofence",\#(text)]"#) == .request(.addGeofences([circle])))
        let polygon = try Geofence(
            id: "Park", ring: [[-73.6, 45.5], [-73.5, 45.5], [-73.5, 45.6]], notifiesOnEntry: false)
        let park =
            #"{"identifier":"Park","notifyOnExit":true,"vertices":[[45.5,-73.6],[45.5,-73.5],[45.6,-73.5]]}"#
        #expect(
            try content(#"["addGeofences",[\#(text),\#(park)]]"#)
                == .request(.addGeofences([circle, polygon])))
    }

    @Test("a stay is asked for in milliseconds, as loiteringDelay")
    func stays() throws {
        let place = #""identifier":"Yard","radius":200,"latitude":45.5,"longitude":-73.6"#
        let stay = try Geofence(
            id: "Yard", latitude: 45.5, longitude: -73.6, radius: 200, notifiesOnEntry: false,
            notifiesOnExit: false, dwell: 300)
        #expect(
            try content(#"["addGeofence",{\#(place),"notifyOnDwell":true,"loiteringDelay":300000}]"#)
                == .request(.addGeofences([stay])))
        let none = try Geofence(
            id: "Yard", latitude: 45.5, longitude: -73.6, radius: 200, notifiesOnEntry: false,
            notifiesOnExit: false)
        #expect(
            try content(#"["addGeofence",{\#(place),"notifyOnDwell":false,"loiteringDelay":300000}]"#)
                == .request(.addGeofences([none])))
    }

    @Test(
        "what has no counterpart is refused by name",
        arguments: [
            (
                #"["destroyLog"]"#,
                "unsupported: destroyLog: the log belongs to the vehicle's owner, and no server may delete it"
            ),
            (#"["destroyLocations"]"#, "unknown_command"), (#"["set_config",{}]"#, "unknown_command"),
            (#"["start",true]"#, "invalid_arguments: start takes none"),
            (#"["stop",{},1]"#, "invalid_arguments: stop takes one argument at most"),
            (#"["changePace",1]"#, "invalid_arguments: the argument of changePace must be true or false"),
            (#"["setConfig"]"#, "invalid_arguments: the argument of setConfig must be an object"),
            (#"["setConfig",{}]"#, "invalid_arguments: setConfig must have at least one setting"),
            (
                #"["setConfig",{"url":"https://evil.example"}]"#,
                "unknown_setting: url has no counterpart that a server may set"
            ),
            (
                #"["setConfig",{"distanceFilter":5,"http":{"url":"x"}}]"#,
                "unknown_setting: url has no counterpart that a server may set"
            ),
            (
                #"["setConfig",{"geolocation":7}]"#,
                "unknown_setting: geolocation has no counterpart that a server may set"
            ),
            (
                #"["setConfig",{"stopTimeout":"5"}]"#,
                "invalid_setting: stopTimeout cannot be translated into tracking.stationary_after_seconds; see "
                    + "beekond.toml(5)"
            ),
            (
                #"["setConfig",{"distanceFilter":5,"geolocation":{"distanceFilter":6}}]"#,
                "invalid_arguments: distanceFilter sets tracking.distance_meters, which another name sets, too"
            ),
            (
                #"["setConfig",{"extras":{"route":7}}]"#,
                "invalid_setting: extras must be an object of texts, and route is none"
            ),
            (
                #"["removeGeofences",[]]"#,
                "invalid_arguments: the argument of removeGeofences must be a list of at least one text, or left out to "
                    + "remove all"
            ),
            (
                #"["addGeofence",{"identifier":"a","latitude":1,"longitude":2,"radius":9,"notifyOnDwell":true}]"#,
                "invalid_geofence: geofence 1: with notifyOnDwell, loiteringDelay must be more than 0 milliseconds"
            ),
            (
                #"["addGeofence",{"identifier":"a","latitude":1,"longitude":2,"radius":9,"dwell_seconds":5}]"#,
                "invalid_geofence: geofence 1: member dwell_seconds is not known"
            ),
            (
                #"["addGeofence",{"identifier":"a","latitude":1,"longitude":2,"radius":9,"notifyOnDwell":1}]"#,
                "invalid_geofence: geofence 1: member notifyOnDwell is not known"
            ),
            (
                #"["addGeofence",{"identifier":"a","latitude":1,"longitude":2,"radius":9,"extras":{}}]"#,
                "invalid_geofence: geofence 1: member extras is not known"
            ),
            (
                #"["addGeofence",{"id":"a","latitude":1,"longitude":2,"radius":9}]"#,
                "invalid_geofence: geofence 1: member id is not known"
            ),
        ])
    func refused(command: String, error: String) throws {
        #expect(try self.error(command) == error)
    }

    @Test(
        "units become ours",
        arguments: [
            (#"{"distanceFilter":10}"#, ["tracking.distance_meters": .number(10)]),
            (#"{"locationUpdateInterval":1500}"#, ["tracking.interval_seconds": .number(1.5)]),
            (#"{"stationaryRadius":25}"#, ["tracking.stationary_radius_meters": .number(25)]),
            (#"{"stopTimeout":5}"#, ["tracking.stationary_after_seconds": .number(300)]),
            (#"{"disableStopDetection":true}"#, ["tracking.stationary_mode": .string("keep_tracking")]),
            (#"{"disableStopDetection":false}"#, ["tracking.stationary_mode": .string("pause")]),
            (#"{"heartbeatInterval":60}"#, ["tracking.check_in_interval_seconds": .number(60)]),
            (
                #"{"geolocation":{"filter":{"trackingAccuracyThreshold":50,"maxImpliedSpeed":60}}}"#,
                ["tracking.low_accuracy_meters": .number(50), "tracking.implausible_speed_mps": .number(60)]
            ),
            (#"{"speedJumpFilter":300}"#, ["tracking.implausible_speed_mps": .number(300)]),
            (
                #"{"app":{"schedule":["1 17:30-21:00","2-6 09:00-17:00","2,4,6 20:00-00:00","7 10:00-19:00 location"]}}"#,
                [
                    "tracking.schedule": .list([
                        "sun 17:30-21:00", "mon-fri 09:00-17:00", "mon,wed,fri 20:00-00:00",
                        "sat 10:00-19:00",
                    ])
                ]
            ),
            (
                #"{"http":{"autoSyncThreshold":5,"maxBatchSize":50},"persistence":{"extras":{"route":"7"}}}"#,
                [
                    "sync.sync_threshold": .integer(5), "sync.batch_size": .integer(50),
                    "extras.route": .string("7"),
                ]
            ),
        ] as [(String, [String: SettingValue])])
    func units(config: String, settings: [String: SettingValue]) throws {
        #expect(try content(#"["setConfig",\#(config)]"#) == .request(.setConfig(settings)))
    }

    @Test("settings of the upload are those of the destination that asks")
    func destination() throws {
        let fleet = try #require(DestinationName("fleet"))
        let found = try content(#"["setConfig",{"maxBatchSize":5,"stopTimeout":1}]"#, from: fleet)
        #expect(
            found
                == .request(
                    .setConfig([
                        "destination.fleet.batch_size": .integer(5),
                        "tracking.stationary_after_seconds": .number(60),
                    ])))
    }

    @Test(
        "what no value of ours can be is refused",
        arguments: [
            #"{"schedule":["2026-01-01 09:00-17:00"]}"#, #"{"schedule":["1-7 09:00-17:00 geofence"]}"#,
            #"{"schedule":["8 09:00-17:00"]}"#, #"{"schedule":"1 09:00-17:00"}"#,
            #"{"schedule":["1-2-3 1-2"]}"#,
            #"{"schedule":[",1 09:00-17:00"]}"#, #"{"maxBatchSize":-1}"#, #"{"maxBatchSize":1.5}"#,
            #"{"autoSyncThreshold":-1}"#, #"{"locationUpdateInterval":1e999}"#,
            #"{"disableStopDetection":1}"#,
            #"{"stopTimeout":1e308}"#,
        ])
    func untranslatable(config: String) throws {
        #expect(try error(#"["setConfig",\#(config)]"#)?.hasPrefix("invalid_setting: ") == true)
    }

    @Test("every setting that names are translated into is one that may be allowed")
    func targets() {
        for row in GuideSettings.rows { #expect(Rules.serverSetting(row.setting) == nil, "\(row.setting)") }
    }
}
