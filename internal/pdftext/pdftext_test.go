package pdftext

import (
	"bytes"
	"compress/lzw"
	"compress/zlib"
	"context"
	"encoding/ascii85"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func stored(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// assemble makes a PDF file of its objects, the first being the catalogue. It
// has no cross-reference table, which readers must do without.
func assemble(objects ...string) []byte {
	var b bytes.Buffer
	b.WriteString("%PDF-1.7\n")
	for i, o := range objects {
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, o)
	}
	b.WriteString("trailer\n<< /Root 1 0 R >>\n%%EOF\n")
	return b.Bytes()
}

func streamOf(data, more string) string {
	return fmt.Sprintf("<< /Length %d %s >>\nstream\n%s\nendstream", len(data), more, data)
}

// single is a file of one page with a content and a font.
func single(content, font string) []byte {
	return assemble(
		"<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
		"<< /Type /Page /Parent 2 0 R /Contents 4 0 R /Resources << /Font << /F 5 0 R >> >> >>", content, font)
}

const plainFont = "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>"

func says(t *testing.T, data []byte) string {
	t.Helper()
	got, err := extract(t.Context(), data, 1<<16)
	if err != nil {
		t.Fatal(err)
	}
	return got.Text
}

func TestABrowsersPrintReadsAsThePageDid(t *testing.T) {
	got, err := Extract(t.Context(), stored(t, "report.pdf"), 1<<16)
	if err != nil || got.Pages != 2 || got.Cut {
		t.Fatalf("%+v, %v", got, err)
	}
	for _, want := range []string{
		"[page 1]\nQuarterly report\nRevenue grew by 12 % to 3.4 million €. The office in Zürich is efficient:\nthe staff find coffee first.",
		"Region Sales\nNorth 1,200\nSouth 2,350", "Ελληνικά, русский.", "one item\nanother item", "\n[page 2]\nSecond page, last line.",
	} {
		if !strings.Contains(got.Text, want) {
			t.Errorf("%q is missing in %q", want, got.Text)
		}
	}
	short, err := Extract(t.Context(), stored(t, "report.pdf"), 40)
	if err != nil || !short.Cut || len(short.Text) > 40 || !strings.HasPrefix(got.Text, short.Text) {
		t.Errorf("cut: %+v, %v", short, err)
	}
}

func TestAFileThatForbidsCopyingOnlyIsRead(t *testing.T) {
	const want = "Dear Ms Weiß, the invoice over 1,250 € is\ndue in May. Kind regards, Søren"
	for _, name := range []string{"plain", "rc4-40", "rc4", "aes128", "aes256"} {
		if got := says(t, stored(t, name+".pdf")); got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
	if _, err := Extract(t.Context(), stored(t, "locked.pdf"), 1000); !errors.Is(err, ErrProtected) {
		t.Error("a file with a password gives", err)
	}
}

func TestWordsAndLinesFollowFromWhereThingsStand(t *testing.T) {
	for content, want := range map[string]string{
		"BT /F 10 Tf 10 700 Td (one) Tj 30 0 Td (two) Tj 0 -12 Td (three) Tj ET":                "one two\nthree",
		"BT /F 10 Tf 10 700 Td [(wo) -20 (rd) -600 (next)] TJ ET":                               "word next",
		"BT /F 10 Tf 12 TL 10 700 Td (a) Tj T* (b) Tj (c) ' 1 2 (d) \" ET":                      "a\nb\nc\nd",
		"BT /F 10 Tf 10 700 Td (para) Tj 0 -40 Td (next) Tj ET":                                 "para\n\nnext",
		"BT /F 1 Tf 10 0 0 10 10 700 Tm (scaled) Tj ET q 2 0 0 2 0 0 cm Q":                      "scaled",
		"BT /F 10 Tf 0 1 -1 0 50 50 Tm (turned) Tj 0 1 -1 0 62 50 Tm (below) Tj ET":             "turned\nbelow",
		"BT /F 10 Tf 10 700 Td /Span << /ActualText (whole) >> BDC (w) Tj (x) Tj EMC (!) Tj ET": "whole!",
		"BI /W 1 /H 1 ID \x00(no) Tj EI BT /F 10 Tf (after an image) Tj ET":                     "after an image",
		"BT /F 10 Tf (caf\\351 \\(x\\) \\\\ l\\\nine) Tj ET":                                    `café (x) \ line`,
		"BT /F 10 Tf <48 69 2> Tj ET":                                                           "Hi",
	} {
		if got := says(t, single(streamOf(content, ""), plainFont)); got != want {
			t.Errorf("%s\n gives %q, want %q", content, got, want)
		}
	}
}

func TestEveryFilterIsUndone(t *testing.T) {
	content := "BT /F 10 Tf (" + strings.Repeat("filtered ", 200) + "end) Tj ET"
	want := strings.Repeat("filtered ", 200) + "end"
	var flat, early, a85 bytes.Buffer
	z := zlib.NewWriter(&flat)
	_, _ = z.Write([]byte(content))
	_ = z.Close()
	l := lzw.NewWriter(&early, lzw.MSB, 8)
	_, _ = l.Write([]byte(content))
	_ = l.Close()
	a := ascii85.NewEncoder(&a85)
	_, _ = a.Write(flat.Bytes())
	_ = a.Close()
	var rows []byte // PNG's "up", each row of one column
	for i := range len(content) {
		before := byte(0)
		if i > 0 {
			before = content[i-1]
		}
		rows = append(rows, 2, content[i]-before)
	}
	var up bytes.Buffer
	z = zlib.NewWriter(&up)
	_, _ = z.Write(rows)
	_ = z.Close()
	for more, data := range map[string]string{
		"/Filter /FlateDecode": flat.String(),
		"/Filter [/FlateDecode] /DecodeParms [<< /Predictor 12 /Columns 1 >>]": up.String(),
		"/Filter /LZWDecode /DecodeParms << /EarlyChange 0 >>":                 early.String(),
		"/Filter [/ASCII85Decode /FlateDecode]":                                a85.String() + "~>",
		"/Filter [/ASCIIHexDecode /FlateDecode]":                               hex.EncodeToString(flat.Bytes()) + ">",
	} {
		if got := says(t, single(streamOf(data, more), plainFont)); got != want {
			t.Errorf("%s gives %.60q", more, got)
		}
	}
	if got := unRunLength([]byte{2, 'a', 'b', 'c', 254, 'x', 128}, 100); string(got) != "abcxxx" {
		t.Errorf("run length: %q", got)
	}
	vector, _ := hex.DecodeString("800B6050220C0C8501") // of the standard
	if got := unLZW(vector, 1, 100); string(got) != "-----A---B" {
		t.Errorf("LZW: %q", got)
	}
}

func TestFontsSayWhatTheirCodesMean(t *testing.T) {
	table := streamOf(`1 begincodespacerange <00> <FF> endcodespacerange
2 beginbfchar <01> <0048> <02> <D83DDE00> endbfchar
2 beginbfrange <10> <12> <0061> <20> <21> [<00660066> <0031>] endbfrange`, "")
	objects := func(font string, more ...string) []byte {
		return assemble(append([]string{
			"<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [3 0 R] >>",
			"<< /Type /Page /Contents 4 0 R /Resources << /Font << /F 5 0 R >> >> >>",
			streamOf("BT /F 10 Tf <01021011122021> Tj ET", ""), font,
		}, more...)...)
	}
	if got := says(t, objects("<< /Type /Font /Subtype /TrueType /ToUnicode 6 0 R >>", table)); got != "H😀abcff1" {
		t.Errorf("by the font's table: %q", got)
	}
	differences := "<< /Type /Font /Subtype /Type1 /Encoding << /Differences [1 /A /eacute 16 /f_i /uni20AC /fi 32 /Alpha.sc /g17] >> >>"
	if got := says(t, objects(differences)); got != "AéfiﬁΑ" && got != "Aéfi€fiΑ" {
		t.Errorf("by the names of glyphs: %q", got)
	}
	wide := "<< /Type /Font /Subtype /Type0 /Encoding /UniGB-UCS2-H /DescendantFonts [<< /DW 1000 >>] >>"
	data := single(streamOf("BT /F 10 Tf <4F60597D> Tj ET", ""), wide)
	if got := says(t, data); got != "你好" {
		t.Errorf("by Unicode codes: %q", got)
	}
}

func TestObjectsWithinStreamsAreFound(t *testing.T) {
	inside := "3 0 4 70 << /Type /Page /Contents 8 0 R /Resources 4 0 R >>" + strings.Repeat(" ", 22) + "<< /Font << /F 7 0 R >> >>"
	pad := strings.Index(inside, "<<")
	second := strings.LastIndex(inside, "<< /Font")
	head := fmt.Sprintf("3 0 4 %d ", second-pad)
	body := head + inside[pad:]
	data := assemble("<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [3 0 R] >>",
		"(an older one)", "null", "null",
		streamOf(body, fmt.Sprintf("/Type /ObjStm /N 2 /First %d", len(head))), plainFont,
		streamOf("BT /F 10 Tf (packed) Tj ET", ""))
	if got := says(t, data); got != "packed" {
		t.Errorf("got %q", got)
	}
}

func TestADamagedFileGivesWhatIsLeft(t *testing.T) {
	whole := stored(t, "report.pdf")
	if got, err := Extract(t.Context(), whole[:len(whole)-3000], 1<<16); err != nil || !strings.Contains(got.Text, "Quarterly") {
		t.Errorf("without its end: %.80q, %v", got.Text, err)
	}
	lies := bytes.Replace(single(streamOf("BT /F 10 Tf (there) Tj ET", ""), plainFont), []byte("/Length 27"), []byte("/Length 5 "), 1)
	if got := says(t, lies); got != "there" {
		t.Errorf("with a wrong length: %q", got)
	}
	for name, data := range map[string][]byte{"nothing": nil, "text": []byte("hello"), "a head": []byte("%PDF-1.4\n"), "no pages": assemble("<< /Type /Catalog >>")} {
		if _, err := Extract(t.Context(), data, 1000); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Extract(t.Context(), single(streamOf("0 0 100 100 re f", ""), plainFont), 1000); !errors.Is(err, ErrNoText) {
		t.Error("a picture gives", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("enough"))
	if _, err := Extract(ctx, whole, 1000); err == nil || err.Error() != "enough" {
		t.Error("an ended context gives", err)
	}
}
