package pdftext

import (
	"strconv"
	"strings"
	"sync"
)

// The upper halves of the encodings that fonts begin with (ISO 32000-1, annex
// D). A "\uFFFD" is a code without a character.
const (
	macUpper = "ÄÅÇÉÑÖÜáàâäãåçéèêëíìîïñóòôöõúùûü†°¢£§•¶ß®©™´¨≠ÆØ∞±≤≥¥µ∂∑∏π∫ªºΩæø¿¡¬√ƒ≈∆«»…\u00A0ÀÃÕŒœ–—“”‘’÷◊ÿŸ⁄€‹›ﬁﬂ‡·‚„‰ÂÊÁËÈÍÎÏÌÓÔ\uFFFDÒÚÛÙıˆ˜¯˘˙˚¸˝˛ˇ"
	winUpper = "€•‚ƒ„…†‡ˆ‰Š‹Œ•Ž••‘’“”•–—˜™š›œ•žŸ"
	// From A1 on.
	standardUpper = "¡¢£⁄¥ƒ§¤'“«‹›ﬁﬂ\uFFFD–†‡·\uFFFD¶•‚„”»…‰\uFFFD¿\uFFFD`´ˆ˜¯˘˙¨\uFFFD˚¸\uFFFD˝˛ˇ—\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFDÆ\uFFFDª\uFFFD\uFFFD\uFFFD\uFFFDŁØŒº\uFFFD\uFFFD\uFFFD\uFFFD\uFFFDæ\uFFFD\uFFFD\uFFFDı\uFFFD\uFFFDłøœß"
)

// encoding is what the codes of a simple font say.
func (f *file) encoding(d dict) [256]string {
	var t [256]string
	base := name("StandardEncoding")
	if f.name(d["Subtype"]) == "TrueType" {
		base = "WinAnsiEncoding"
	}
	var changes array
	switch o := f.resolve(d["Encoding"]).(type) {
	case name:
		base = o
	case dict:
		if n := f.name(o["BaseEncoding"]); n != "" {
			base = n
		}
		changes = f.array(o["Differences"])
	}
	for c := ' '; c <= '~'; c++ {
		t[c] = string(c)
	}
	fill := func(from int, chars string) {
		for _, r := range chars {
			if r != '\uFFFD' && from < 256 {
				t[from] = string(r)
			}
			from++
		}
	}
	switch base {
	case "WinAnsiEncoding":
		for c := rune(0xA0); c <= 0xFF; c++ {
			t[c] = string(c)
		}
		fill(0x80, winUpper)
	case "MacRomanEncoding":
		fill(0x80, macUpper)
	default:
		t['\''], t['`'] = "’", "‘"
		fill(0xA1, standardUpper)
	}
	code := 0
	for _, o := range changes {
		switch o := f.resolve(o).(type) {
		case float64:
			code = int(o)
		case name:
			if code >= 0 && code < 256 {
				t[code] = glyphText(string(o))
			}
			code++
		}
	}
	return t
}

// glyphText is what a glyph's name says; empty if that is not known.
func glyphText(n string) string {
	n, _, _ = strings.Cut(n, ".")
	if s, ok := glyphs()[n]; ok {
		return s
	}
	if len(n) == 1 {
		return n
	}
	digits, ok := strings.CutPrefix(n, "uni")
	if !ok {
		digits, ok = strings.CutPrefix(n, "u")
	}
	if ok && len(digits) >= 4 && len(digits) <= 6 {
		if r, err := strconv.ParseUint(digits, 16, 21); err == nil {
			return string(rune(r))
		}
	}
	if strings.Contains(n, "_") && len(n) < 32 { // a ligature of what is named
		var b strings.Builder
		for part := range strings.SplitSeq(n, "_") {
			if strings.Contains(part, "_") {
				continue
			}
			b.WriteString(glyphText(part))
		}
		return b.String()
	}
	return ""
}

// glyphs are the names of Adobe's glyph list that Latin and Greek texts use.
var glyphs = sync.OnceValue(func() map[string]string {
	table := map[string]string{"ff": "ff", "fi": "fi", "fl": "fl", "ffi": "ffi", "ffl": "ffl", "nbspace": " ", "sfthyphen": "-"}
	for _, list := range []struct{ names, chars string }{
		{"space exclam quotedbl numbersign dollar percent ampersand quotesingle parenleft parenright asterisk plus comma hyphen period slash", " !\"#$%&'()*+,-./"},
		{"zero one two three four five six seven eight nine colon semicolon less equal greater question at", "0123456789:;<=>?@"},
		{"bracketleft backslash bracketright asciicircum underscore grave braceleft bar braceright asciitilde", "[\\]^_`{|}~"},
		{"exclamdown cent sterling currency yen brokenbar section dieresis copyright ordfeminine guillemotleft logicalnot registered macron", "¡¢£¤¥¦§¨©ª«¬®¯"},
		{"degree plusminus twosuperior threesuperior acute mu paragraph periodcentered cedilla onesuperior ordmasculine guillemotright onequarter onehalf threequarters questiondown", "°±²³´µ¶·¸¹º»¼½¾¿"},
		{"Agrave Aacute Acircumflex Atilde Adieresis Aring AE Ccedilla Egrave Eacute Ecircumflex Edieresis Igrave Iacute Icircumflex Idieresis", "ÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏ"},
		{"Eth Ntilde Ograve Oacute Ocircumflex Otilde Odieresis multiply Oslash Ugrave Uacute Ucircumflex Udieresis Yacute Thorn germandbls", "ÐÑÒÓÔÕÖ×ØÙÚÛÜÝÞß"},
		{"agrave aacute acircumflex atilde adieresis aring ae ccedilla egrave eacute ecircumflex edieresis igrave iacute icircumflex idieresis", "àáâãäåæçèéêëìíîï"},
		{"eth ntilde ograve oacute ocircumflex otilde odieresis divide oslash ugrave uacute ucircumflex udieresis yacute thorn ydieresis", "ðñòóôõö÷øùúûüýþÿ"},
		{"Abreve abreve Amacron amacron Aogonek aogonek Cacute cacute Ccaron ccaron Dcaron dcaron Dcroat dcroat Ecaron ecaron Emacron emacron Eogonek eogonek", "ĂăĀāĄąĆćČčĎďĐđĚěĒēĘę"},
		{"Gbreve gbreve Idotaccent dotlessi Lacute lacute Lcaron lcaron Lslash lslash Nacute nacute Ncaron ncaron Ohungarumlaut ohungarumlaut OE oe Racute racute Rcaron rcaron", "ĞğİıĹĺĽľŁłŃńŇňŐőŒœŔŕŘř"},
		{"Sacute sacute Scaron scaron Scedilla scedilla Tcaron tcaron Uhungarumlaut uhungarumlaut Uring uring Umacron umacron Ydieresis Zacute zacute Zcaron zcaron Zdotaccent zdotaccent florin", "ŚśŠšŞşŤťŰűŮůŪūŸŹźŽžŻżƒ"},
		{"circumflex caron breve dotaccent ring ogonek tilde hungarumlaut", "ˆˇ˘˙˚˛˜˝"},
		{"Alpha Beta Gamma Delta Epsilon Zeta Eta Theta Iota Kappa Lambda Mu Nu Xi Omicron Pi Rho Sigma Tau Upsilon Phi Chi Psi Omega", "ΑΒΓΔΕΖΗΘΙΚΛΜΝΞΟΠΡΣΤΥΦΧΨΩ"},
		{"alpha beta gamma delta epsilon zeta eta theta iota kappa lambda nu xi omicron pi rho sigma1 sigma tau upsilon phi chi psi omega", "αβγδεζηθικλνξοπρςστυφχψω"},
		{"endash emdash quoteleft quoteright quotesinglbase quotedblleft quotedblright quotedblbase dagger daggerdbl bullet ellipsis perthousand", "–—‘’‚“”„†‡•…‰"},
		{"guilsinglleft guilsinglright fraction Euro trademark minus partialdiff summation product radical infinity integral approxequal notequal lessequal greaterequal lozenge", "‹›⁄€™−∂∑∏√∞∫≈≠≤≥◊"},
		{"arrowleft arrowup arrowright arrowdown element intersection union logicaland logicalor angle perpendicular similar proportional checkmark", "←↑→↓∈∩∪∧∨∠⊥∼∝✓"},
	} {
		chars := []rune(list.chars)
		for i, n := range strings.Fields(list.names) {
			table[n] = string(chars[i])
		}
	}
	return table
})
