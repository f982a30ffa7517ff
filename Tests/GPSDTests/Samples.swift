import Base
import Testing

@testable import GPSD
@testable import Tracking

/// 2027-03-15T08:00:00Z, in milliseconds.
let start: Int64 = 1_805_097_600_000

func time(_ seconds: Double) -> Timestamp {
    Timestamp(milliseconds: start).advanced(bySeconds: seconds)
}

func boot(_ seconds: Double) -> BootInstant {
    BootInstant(nanoseconds: 1_000_000_000_000).advanced(bySeconds: seconds)
}

/// A TPV line as gpsd writes it, with additional `fields`.
func tpvLine(
    _ seconds: Double, device: String = "/dev/gps0", mode: Int = 3, latitude: Double = 52.5,
    fields: String = ""
) -> String {
    #"{"class":"TPV","device":"\#(device)","mode":\#(mode),"time":"\#(time(seconds).iso8601)","#
        + #""lat":\#(latitude),"lon":13.25\#(fields.isEmpty ? "" : ",")\#(fields)}"#
}

/// One device, as in gpsd's answer to ?WATCH.
let devicesLine =
    #"{"class":"DEVICES","devices":[{"class":"DEVICE","path":"/dev/gps0","driver":"NMEA0183","#
    + #""activated":"2027-03-15T08:00:00.000Z","flags":1,"native":0,"bps":9600,"parity":"N","stopbits":1,"#
    + #""cycle":1.00}]}"#

/// A SKY line of about `bytes` bytes with one used satellite.
func skyLine(bytes: Int) -> String {
    var text =
        #"{"class":"SKY","device":"/dev/gps0","satellites":[{"PRN":1,"el":10.0,"az":20.0,"ss":30.0,"used":true}"#
    var number = 2
    while text.utf8.count < bytes - 80, number <= 100 {
        text += #",{"PRN":\#(number),"el":10.0,"az":20.0,"ss":30.0,"used":false}"#
        number += 1
    }
    text += "]"
    text += String(repeating: " ", count: max(0, bytes - text.utf8.count - 1)) + "}"
    return text
}

/// Parses one line with a new parser.
func parse(_ line: String) throws -> Report {
    var parser = try makeParser()
    return parser.parse(line)
}

func makeParser() throws -> ReportParser {
    guard let parser = ReportParser() else { throw NoMemory() }
    return parser
}

/// A SKY line with this many satellites, none of them used, of no particular receiver.
func skyLine(visible: Int, device: String? = nil) -> String {
    let satellites = (1...visible).map { #"{"PRN":\#($0),"used":false}"# }.joined(separator: ",")
    let name = device.map { #""device":"\#($0)","# } ?? ""
    return #"{"class":"SKY",\#(name)"satellites":[\#(satellites)]}"#
}

/// gpsd's list of receivers.
func devicesLine(_ paths: String...) -> String {
    let devices = paths.map { #"{"class":"DEVICE","path":"\#($0)","native":0}"# }.joined(separator: ",")
    return #"{"class":"DEVICES","devices":[\#(devices)]}"#
}

struct NoMemory: Error {}

extension ReportParser {
    mutating func parse(_ line: String) -> Report {
        let copy = UnsafeMutableBufferPointer<CChar>.allocate(capacity: line.utf8.count + 1)
        defer { copy.deallocate() }
        _ = copy.initialize(from: line.utf8CString)
        return copy.baseAddress.map { parse($0) } ?? .other
    }
}
