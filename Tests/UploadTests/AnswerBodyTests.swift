import Base
import DaemonConfiguration
import Testing

@testable import Upload

/// What a body is taken for: a page always, a page where the type says HTML, or none.
@Suite("which bodies are pages") struct AnswerBodyTests {
    enum Page: String { case always, asHTML, never }

    private static let mark = "\u{FEFF}"

    /// In UTF-8, unless it is an array of bytes.
    struct Sample: CustomTestStringConvertible {
        let bytes: [UInt8]
        let page: Page
        let isPHPError: Bool

        init(_ text: String, _ page: Page, isPHPError: Bool = false) {
            self.init(Array(text.utf8), page, isPHPError: isPHPError)
        }

        init(_ bytes: [UInt8], _ page: Page, isPHPError: Bool = false) {
            (self.bytes, self.page, self.isPHPError) = (bytes, page, isPHPError)
        }

        var testDescription: String { "\(page): \(String(decoding: bytes.prefix(60), as: UTF8.self))" }
    }

    private static let samples: [Sample] = [
        .init("<!doctype html>", .always), .init("<!DOCTYPE HTML PUBLIC", .always), .init("<html>", .always),
        .init("<HTML lang=de>", .always), .init(" \t\r\n\u{0C}<!DocType \n HTML>", .always),
        .init(mark + "<html", .always), .init("\n" + mark + "\n <!doctype html>", .always),
        .init("<!-- portal --><!DOCTYPE html>", .always), .init("<!--><html>", .always),
        .init("<!---><html>", .always), .init("<!-- a - -- > <b> --->\n<!----><html>", .always),
        .init("<?xml version=\"1.0\"?>\n<!DOCTYPE html><html>", .always),
        .init("<?XML?><?xml-stylesheet href='?'?><!-- > --><HtMl>", .always),
        .init("<head><meta http-equiv=refresh>", .asHTML), .init("<script>location=1", .asHTML),
        .init("<?php echo 1", .asHTML), .init("<!doctype xml>", .asHTML), .init("< html>", .asHTML),
        .init("<", .asHTML), .init("<htm", .asHTML), .init("<!-", .asHTML), .init("<!-- never ends", .asHTML),
        .init("<!-- never ends --", .asHTML), .init("<?xml version='1.0' ?", .asHTML),
        .init("<!-- a --><p>", .asHTML), .init("<?xml?><ok/>", .asHTML), .init("<br>", .asHTML),
        .init("<br /> <p>", .asHTML), .init("<br /> OK", .asHTML),
        .init("<br />\n<b>Fatal error</b>:  Uncaught", .asHTML, isPHPError: true),
        .init("\n<BR /><B>Warning", .asHTML, isPHPError: true),
        .init("", .never), .init("OK", .never), .init("{\"a\":\"<html>\"}", .never), .init(" \n", .never),
        .init("\"<html>\"", .never), .init("x<html>", .never), .init("<!-- a --> <!-- b -->\n", .never),
        .init("<!-- served by 7 -->\nOK", .never), .init("<?xml version='1.0'?>\n{}", .never),
        .init(mark, .never), .init("\u{FFFE}<html>", .never), .init(mark + "{\"a\":1}", .never),
        .init(utf16("\n<!-- Ä --><!doctype html>", isBig: true), .always),
        .init(utf16("<html>", isBig: false), .always), .init(utf16("<p>Ä", isBig: true), .asHTML),
        .init(utf16(mark + " <p>", isBig: false), .asHTML), .init(utf16("{}", isBig: true), .never),
        .init(utf16("Ł<html>", isBig: false), .never), .init([0xFE, 0xFF], .never),
        .init([0xEF, 0x20] + Array("<html>".utf8), .never),
        .init([0xEF, 0xBB, 0x20] + Array("<html>".utf8), .never), .init([0xFE, 0x3C], .asHTML),
        // Without the space it may be a mark that was cut off.
        .init([0xEF, 0xBB] + Array("<html>".utf8), .always),
    ]

    private static func utf16(_ text: String, isBig: Bool) -> [UInt8] {
        (mark + text).utf16.flatMap { unit in
            let bytes = [UInt8(unit >> 8), UInt8(unit & 0xFF)]
            return isBig ? bytes : bytes.reversed()
        }
    }

    private func check(_ body: AnswerBody, _ sample: Sample, _ place: String) {
        #expect(body.isPage(asHTML: true) == (sample.page != .never), "\(place)")
        #expect(body.isPage(asHTML: false) == (sample.page == .always), "\(place)")
        #expect(body.isPHPError == sample.isPHPError, "\(place)")
    }

    @Test("in whatever two pieces they come, or byte by byte", arguments: samples)
    func splits(sample: Sample) {
        for cut in 0...sample.bytes.count {
            var body = AnswerBody()
            body.append(sample.bytes[..<cut])
            body.append(sample.bytes[cut...])
            check(body, sample, "cut at \(cut)")
        }
        var body = AnswerBody()
        for byte in sample.bytes { body.append(CollectionOfOne(byte)) }
        check(body, sample, "byte by byte")
    }

    @Test("what has been read decides for good, and what has not is waited for")
    func open() {
        for (text, mayBePage) in [
            ("", true), ("\n", true), ("<!-- x", true), ("<!-- x --> ", true), ("<!doc", true),
            ("<?xml ", true),
            ("<html>", true), ("x", false), ("<p>", false), ("{", false),
            ("[", false), ("<!-- a --!", true), ("<!-- a --!> {", false), ("<!-- a --!!> {", true),
        ] {
            var body = AnswerBody()
            body.append(text.utf8)
            #expect(body.mayBePage == mayBePage, "\(text)")
            #expect(body.isObject == (text.last == "{" && !mayBePage), "\(text)")
        }
    }

    @Test("no more than 64 KiB are looked at, and an object is told behind what is passed over")
    func bounds() {
        var body = AnswerBody()
        body.append(repeatElement(0x20, count: 65_536))
        body.append("<html>".utf8)
        #expect(!body.isPage(asHTML: true) && body.mayBePage)
        body = AnswerBody()
        body.append("<!--".utf8)
        body.append(repeatElement(0x2D, count: 65_000))
        body.append("> \n{".utf8)
        #expect(body.isObject && !body.mayBePage)
    }

    @Test(
        "either of two types counts, and parameters do not",
        arguments: [
            (["Content-Type: text/html"], true), (["content-type:Text/HTML;charset=utf-8"], true),
            (["Content-Type: application/xhtml+xml ; q=1"], true),
            (["Content-Type: text/html", "Content-Type: application/json"], true),
            (["Content-Type: application/json", "Content-Type: text/html; a=\"b\""], true),
            (["Content-Type: text/html, text/plain"], true), (["Content-Type: text/plain"], false),
            (["Content-Type: text/htmlx"], false), (["Content-Type: application/xml"], false),
            (["X-Content-Type: text/html"], false), ([], false),
            (["Content-Type :text/html"], true), (["Content-Type:", "  text/html"], true),
            (["Content-Type:", "\ttext/plain", " text/html"], true),
            (["Content-Type: text/plain", "X: 1", " text/html"], false), (["X:", " text/html"], false),
            (["Content-Type:" + String(repeating: " ", count: 300) + "text/html"], true),
        ])
    func types(lines: [String], isPage: Bool) {
        #expect(answer(200, "<p>Log in", lines).isPage == isPage)
        #expect(!answer(200, "OK", lines).isPage)
        #expect(!answer(200, "", lines).isPage)
        #expect(answer(200, "<html>", lines).isPage)
    }

    @Test("a coding is one in the next line, too")
    func folded() {
        for (lines, isReadable) in [
            (["Content-Encoding:", " gzip"], false), (["Content-Encoding : gzip"], false),
            (["Content-Encoding:", " identity"], true), (["X:", " gzip"], true),
        ] {
            #expect(answer(200, "x", lines).isReadable == isReadable, "\(lines)")
        }
    }

    @Test("an error of PHP is believed with no type")
    func phpErrors() {
        for line in ["Content-Type: application/json", "Content-Type: text/html"] {
            let answer = answer(200, "<br />\n<b>Notice</b>: x<br />\n{\"result\":\"ok\"}", [line])
            #expect(answer.pageDoubt == .phpError && answer.isPage)
            for format in Format.allCases {
                let judgement = format.judge(answer, acknowledging: nil, at: .init(milliseconds: 0))
                #expect(judgement.doubt == .phpError && judgement.verdict == .permanent)
                #expect(format.advice(.doubt(.phpError)).contains("display_errors"))
            }
        }
    }
}
