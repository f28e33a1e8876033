package pdftext

import (
	"bytes"
	"compress/zlib"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// bomb is a stream that is a thousand times larger inside.
func bomb(size int) string {
	var b bytes.Buffer
	z := zlib.NewWriter(&b)
	_, _ = z.Write(bytes.Repeat([]byte(" "), size))
	_ = z.Close()
	return streamOf(b.String(), "/Filter /FlateDecode")
}

// What is made to cost much costs no more than the bounds.
func TestHostileFilesAreBounded(t *testing.T) {
	page := func(resources, contents string, more ...string) []byte {
		return assemble(append([]string{
			"<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [3 0 R] >>",
			"<< /Type /Page /Contents " + contents + " /Resources " + resources + " >>",
		}, more...)...)
	}
	hostile := map[string][]byte{
		"deep arrays":       single(streamOf(strings.Repeat("[", 2_000_000), ""), plainFont),
		"deep dictionaries": append([]byte("%PDF-1.4 1 0 obj "), strings.Repeat("<</a ", 1_000_000)...),
		"open strings":      append([]byte("%PDF-1.4 "), strings.Repeat("1 0 obj (", 200_000)...),
		"swallowed objects": append([]byte("%PDF-1.4 "), strings.Repeat("1 0 obj [ endobj ", 200_000)...),
		"many objects":      append([]byte("%PDF-1.4 "), strings.Repeat("1 0 obj 1 endobj ", 500_000)...),
		"a ring of pages":   assemble("<< /Type /Catalog /Pages 2 0 R >>", "<< /Kids [2 0 R 3 0 R] >>", "<< /Kids [2 0 R 3 0 R] >>"),
		"a ring of lengths": assemble("<< /Length 1 0 R >> stream\nx\nendstream"),
		"a ring of objects": assemble("2 0 R", "1 0 R"),
		"a bomb":            page("<< >>", "4 0 R", bomb(100<<20)),
		"many bombs":        page("<< >>", "["+strings.Repeat("4 0 R ", 5000)+"]", bomb(20<<20)),
		"forms in forms": page("<< /XObject << /X 4 0 R >> >>", "5 0 R",
			streamOf(strings.Repeat("/X Do ", 1000), "/Subtype /Form"), streamOf("/X Do", "")),
		"a wide font": page("<< /Font << /F 4 0 R >> >>", "5 0 R",
			"<< /Subtype /Type0 /DescendantFonts [<< /W [0 2000000000 500 0 2000000000 500] >>] >>", streamOf("BT /F 9 Tf <0001> Tj ET", "")),
		"a table of everything": page("<< /Font << /F 4 0 R >> >>", "5 0 R", "<< /Subtype /Type0 /ToUnicode 6 0 R >>",
			streamOf("BT /F 9 Tf <0001> Tj ET", ""), streamOf(strings.Repeat("9 beginbfrange <00000000> <FFFFFFFF> <0041> endbfrange\n", 100_000), "")),
		"many fonts":   page("<< /Font << /F << /Subtype /Type1 >> >> >>", "4 0 R", streamOf(strings.Repeat("/F 1 Tf ", 100_000), "")),
		"much to save": page("<< >>", "4 0 R", streamOf(strings.Repeat("q ", 1_000_000), "")),
		"large numbers": page("<< /Font << /F 5 0 R >> >>", "4 0 R",
			streamOf("BT /F "+strings.Repeat("9", 60)+" Tf 1e9 99999999999999999999 Td (x) Tj ET", ""), plainFont),
		"objects that say they hold many": assemble("<< /Type /Catalog >>", streamOf("1 0", "/Type /ObjStm /N 999999999 /First 3")),
		"predictors":                      page("<< >>", "4 0 R", strings.Replace(bomb(1<<20), "/Filter", "/DecodeParms << /Predictor 15 /Columns 999999999999 /Colors 9999999 >> /Filter", 1)),
	}
	for name, data := range hostile {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			got, err := Extract(t.Context(), data, 1<<16)
			runtime.ReadMemStats(&after)
			if len(got.Text) > 1<<16 {
				t.Errorf("%d bytes of text", len(got.Text))
			}
			if grown := after.Sys - before.Sys; after.Sys > before.Sys && grown > 1<<30 {
				t.Errorf("took %d MB", grown>>20)
			}
			t.Logf("%d bytes: %.60q, %v", len(data), got.Text, err)
		})
	}
}

func FuzzExtract(f *testing.F) {
	names, _ := filepath.Glob("testdata/*.pdf")
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add(single(streamOf("BT /F 10 Tf (x) Tj ET", ""), plainFont))
	f.Fuzz(func(t *testing.T, data []byte) {
		const max = 4096
		got, err := extract(t.Context(), data, max) // a panic is not contained here
		if len(got.Text) > max {
			t.Errorf("%d bytes", len(got.Text))
		}
		if err == nil && strings.TrimSpace(got.Text) == "" {
			t.Error("nothing was said, and no error")
		}
	})
}

// Streams begin the same codes as the standard's own tables of names.
func TestEveryNamedGlyphHasACharacter(t *testing.T) {
	for name, text := range glyphs() {
		if name == "" || text == "" {
			t.Errorf("%q is %q", name, text)
		}
	}
	for _, c := range []string{"uni0041", "u1F600", "f_f_i", "a.alt"} {
		if glyphText(c) == "" {
			t.Errorf("%s says nothing", c)
		}
	}
	if got := fmt.Sprint(glyphText("g12"), glyphText("uniD800x"), glyphText("______")); strings.TrimSpace(got) != "" {
		t.Errorf("names without meaning say %q", got)
	}
}
