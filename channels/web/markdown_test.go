package web

import (
	"clawbot/internal/browsertest"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// markdownCases are sources and the HTML they become. Copy buttons are left
// out of the comparison.
var markdownCases = []struct{ name, source, want string }{
	{"paragraphs and breaks", "one\ntwo\n\nthree", "<p>one<br>two</p><p>three</p>"},
	{"headings stay below the page's own", "# One\n## Two ##\n###### Six\n#none", "<h2>One</h2><h3>Two</h3><h6>Six</h6><p>#none</p>"},
	{"underlined headings", "One\n===\n\nTwo\n---", "<h2>One</h2><h3>Two</h3>"},
	{"emphasis", "*a* **b** ***c*** _d_ __e__ ~~f~~", "<p><em>a</em> <strong>b</strong> <em><strong>c</strong></em> <em>d</em> <strong>e</strong> <del>f</del></p>"},
	{"nested emphasis", "**a *b* c** *d **e** f*", "<p><strong>a <em>b</em> c</strong> <em>d <strong>e</strong> f</em></p>"},
	{"no emphasis in words and sums", "snake_case_name 2 * 3 * 4 a ** b", "<p>snake_case_name 2 * 3 * 4 a ** b</p>"},
	{"unpaired marks are text", "**a *b", "<p>**a *b</p>"},
	{"emphasis over punctuation", "**“quoted”** and **bold**, *it*.", "<p><strong>“quoted”</strong> and <strong>bold</strong>, <em>it</em>.</p>"},
	{"code", "`a` ``b ` c`` ` d ` `**e**`", "<p><code>a</code> <code>b ` c</code> <code>d</code> <code>**e**</code></p>"},
	{"an unclosed backtick is text", "a ` b", "<p>a ` b</p>"},
	{"escapes", `\*a\* \[b\](c) \\`, `<p>*a* [b](c) \</p>`},
	{"entities", "&lt;b&gt; &amp; &copy; &#65; &#x42; &nope;", "<p>&lt;b&gt; &amp; © A B &amp;nope;</p>"},
	{"HTML is text", "<b>x</b> <script>alert(1)</script>", "<p>&lt;b&gt;x&lt;/b&gt; &lt;script&gt;alert(1)&lt;/script&gt;</p>"},
	{"links", "[a](http://x.y/z) [b](<http://x.y/q> \"t\") [c](mailto:a@b.c)",
		"<p>" + link("http://x.y/z", "a") + " " + link("http://x.y/q", "b") + " " + link("mailto:a@b.c", "c") + "</p>"},
	{"emphasis in links, brackets in addresses", "[**a** b](http://x.y/z_(w))", "<p>" + link("http://x.y/z_(w)", "<strong>a</strong> b") + "</p>"},
	{"bare addresses", "see http://x.y/a. (http://x.y/b_(c)) http://x.y/d, xhttp://x.y",
		"<p>see " + link("http://x.y/a", "http://x.y/a") + ". (" + link("http://x.y/b_(c)", "http://x.y/b_(c)") + ") " + link("http://x.y/d", "http://x.y/d") + ", xhttp://x.y</p>"},
	{"addresses in angle brackets", "<http://x.y/a> <nothing>", "<p>" + link("http://x.y/a", "http://x.y/a") + " &lt;nothing&gt;</p>"},
	{"pictures are links", "![a cat](http://x.y/c.png)", "<p>" + link("http://x.y/c.png", "🖼 a cat") + "</p>"},
	{"links elsewhere than the web are text", "[a](javascript:alert(1)) [b](data:text/html,x) [c](/etc) [d](vbscript:x) [e](JaVaScRiPt:x) [f](file:///etc/passwd)",
		"<p><span>a</span> <span>b</span> <span>c</span> <span>d</span> <span>e</span> <span>f</span></p>"},
	{"fenced code", "```go\nx := 1\n\n  y\n```\nafter", code("go", "x := 1\n\n  y") + "<p>after</p>"},
	{"tildes, longer fences and backticks inside", "~~~\n```\n~~~\n\n````md\n```\nx\n```\n````", code("text", "```") + code("md", "```\nx\n```")},
	{"an unclosed fence", "```js\nlet a", code("js", "let a")},
	{"an empty fence", "```\n```", code("text", "")},
	{"indented code", "a\n\n    b\n\n    c", "<p>a</p>" + code("text", "b\n\nc")},
	{"a tight list", "- a\n- b\n  more\n* c", `<ul data-kind="ul-"><li>a</li><li>b<br>more</li></ul><ul data-kind="ul*"><li>c</li></ul>`},
	{"an ordered list that begins at three", "3. a\n4. b", `<ol data-kind="ol." start="3"><li>a</li><li>b</li></ol>`},
	{"nested lists", "1. a\n   - b\n     - c\n2. d", `<ol data-kind="ol."><li>a<ul data-kind="ul-"><li>b<ul data-kind="ul-"><li>c</li></ul></li></ul></li><li>d</li></ol>`},
	{"nested lists with two spaces, as models write them", "1. a\n  - b\n2. c", `<ol data-kind="ol."><li>a<ul data-kind="ul-"><li>b</li></ul></li><li>c</li></ol>`},
	{"a loose item", "- a\n\n  b\n- c", `<ul data-kind="ul-"><li><p>a</p><p>b</p></li><li>c</li></ul>`},
	{"code in a list", "- a\n  ```\n  x\n  ```\n- b", `<ul data-kind="ul-"><li>a` + code("text", "x") + `</li><li>b</li></ul>`},
	{"tasks", "- [ ] a\n- [x] b", `<ul data-kind="ul-"><li class="task"><input type="checkbox" disabled="" aria-label="open">a</li><li class="task"><input type="checkbox" disabled="" checked="" aria-label="done">b</li></ul>`},
	{"a dash in a sentence is no list", "a\n-b\n2. c", "<p>a<br>-b<br>2. c</p>"},
	{"quotes", "> a\n> - b\nlazy\n\nc", `<blockquote><p>a</p><ul data-kind="ul-"><li>b<br>lazy</li></ul></blockquote><p>c</p>`},
	{"rules", "a\n\n---\n***\n_ _ _", "<p>a</p><hr><hr><hr>"},
	{"a table", "| a | b |\n|---|--:|\n| `x|y` \\| z | **2** |\n| only |\n\nafter",
		table(`<tr><th>a</th><th class="right">b</th></tr>`, `<tr><td><code>x|y</code> | z</td><td class="right"><strong>2</strong></td></tr><tr><td>only</td><td class="right"></td></tr>`) + "<p>after</p>"},
	{"a table without outer bars after a line", "text\na | b\n:-: | -\n1 | 2", "<p>text</p>" + table(`<tr><th class="center">a</th><th>b</th></tr>`, `<tr><td class="center">1</td><td>2</td></tr>`)},
	{"a bar is no table", "a | b\nc", "<p>a | b<br>c</p>"},
	{"Windows line ends and tabs", "a\r\n\r\n-\tb\r\n\t- c", `<p>a</p><ul data-kind="ul-"><li>b<ul data-kind="ul-"><li>c</li></ul></li></ul>`},
	{"nothing", "", ""},
	{"only blanks", " \n\n\t\n", ""},
}

func link(href, text string) string {
	return `<a href="` + href + `" target="_blank" rel="noopener noreferrer">` + text + `</a>`
}

func code(language, text string) string {
	return `<div class="code"><div class="code-head"><span>` + language + `</span></div><pre><code>` + text + `</code></pre></div>`
}

func table(head, body string) string {
	return `<div class="table"><table><thead>` + head + `</thead><tbody>` + body + `</tbody></table></div>`
}

// plain takes out of the HTML what is the same everywhere.
const plainHTML = `const plain = (el) => {
	const copy = el.cloneNode(true);
	for (const b of copy.querySelectorAll("button")) b.remove();
	for (const e of copy.querySelectorAll("pre, .table")) for (const a of ["tabindex", "role", "aria-label"]) e.removeAttribute(a);
	return copy.innerHTML;
};`

func TestMarkdownReadsAsMeant(t *testing.T) {
	p := browse(t)
	p.Open("/")
	for _, c := range markdownCases {
		source, _ := json.Marshal(c.source)
		got := browsertest.Eval[string](p.Tab, `import("/assets/markdown.js").then(({ render }) => {`+plainHTML+`
			const el = document.createElement("div");
			render(el, `+string(source)+`);
			return plain(el);
		})`)
		if got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
	}
}

func TestMarkdownThatIsStreamedEndsAsIfItHadComeAtOnce(t *testing.T) {
	p := browse(t)
	p.Open("/")
	sources := []string{sampleAnswer, "```sh\nls\n```\n\n```\n``\n`````\n\nx", "- a\n\n- b\n\n  c\n\n1. d\n   ```\n   e\n   ```"}
	var all strings.Builder
	for _, c := range markdownCases {
		sources = append(sources, c.source)
		all.WriteString(c.source + "\n\n")
	}
	data, _ := json.Marshal(append(sources, all.String()))
	differ := browsertest.Eval[[]string](p.Tab, `import("/assets/markdown.js").then(({ render, Writer }) => {`+plainHTML+`
		const differ = [];
		for (const source of `+string(data)+`) {
			const whole = document.createElement("div");
			render(whole, source);
			for (const step of [1, 2, 3, 7, 50]) {
				const el = document.createElement("div");
				const w = new Writer(el);
				for (let i = 0; i < source.length; i += step) w.add(source.slice(i, i + step));
				w.end();
				// Neighbouring text nodes are one text.
				if (plain(el) !== plain(whole)) differ.push(step + ": " + JSON.stringify(source) + "\n got " + plain(el) + "\nwant " + plain(whole));
			}
		}
		return differ;
	})`)
	for _, d := range differ {
		t.Errorf("streamed in steps of %s", d)
	}
}

func TestUnfinishedMarkdownIsShownAsItWillBe(t *testing.T) {
	p := browse(t)
	p.Open("/")
	for source, want := range map[string]string{
		"**bol":            "<p><strong>bol</strong></p>",
		"a **b *c":         "<p>a <strong>b <em>c</em></strong></p>",
		"a **":             "<p>a </p>",
		"use `cod":         "<p>use <code>cod</code></p>",
		"see [the docs](h": "<p>see <span>the docs</span></p>",
		"~~no":             "<p><del>no</del></p>",
		"- **x":            `<ul data-kind="ul-"><li><strong>x</strong></li></ul>`,
		"```go\nfunc":      code("go", "func"),
	} {
		src, _ := json.Marshal(source)
		got := browsertest.Eval[string](p.Tab, `import("/assets/markdown.js").then(({ Writer }) => {`+plainHTML+`
			const el = document.createElement("div");
			new Writer(el).add(`+string(src)+`);
			return plain(el);
		})`)
		if got != want {
			t.Errorf("%q:\n got %s\nwant %s", source, got, want)
		}
	}
}

// attacks try to run code or to load something, one way or another.
var attacks = []string{
	"<img src=x onerror=boom()>", "<svg/onload=boom()>", "<script>boom()</script>", "<iframe src=javascript:boom()>",
	"[x](javascript:boom())", "[x](java\nscript:boom())", "[x](  javascript:boom())", "[x](&#106;avascript:boom())",
	"[x](\x01javascript:boom())", "<javascript:boom()>", "[x](data:text/html;base64,PHNjcmlwdD4=)", "[x](http://a\" onmouseover=\"boom())",
	"![x](http://evil.invalid/x.png\"onerror=\"boom())", "[<img src=x onerror=boom()>](http://a.invalid)", "`<img src=x onerror=boom()>`",
	"```<img src=x onerror=boom()>\n<img src=x onerror=boom()>\n```", "```\"><img src=x onerror=boom()>\nx\n```",
	"| <img src=x onerror=boom()> |\n|---|\n| <script>boom()</script> |", "# <img src=x onerror=boom()>", "> <style>*{display:none}</style>",
	"[a]: javascript:boom()\n\n[a]", "&lt;img src=x onerror=boom()&gt;", "<a href=\"javascript:boom()\">x</a>", "<form action=http://evil.invalid><button>x",
	"[x](vbscript:boom())", "[x](//evil.invalid)", "<http://x\"onclick=boom()>", "http://x/\"onclick=\"boom()", "<base href=http://evil.invalid>", "<meta http-equiv=refresh content=0>",
}

func TestNothingThatAModelOrAToolSaysIsRun(t *testing.T) {
	p := browse(t)
	evil := strings.Join(attacks, "\n\n")
	for i, a := range append(attacks, evil) {
		c := "xss"
		b := p.bot
		b.add(c, EntryUser, userText(a), "")
		m := calling(a, call(fmt.Sprint("id", i, `"><img src=x onerror=boom()>`), `<img src=x onerror=boom()>`, mustJSON(map[string]string{"path": a, "<b>": a})))
		m.ID = fmt.Sprint("a", i)
		b.add(c, EntryAssistant, m, "")
		r := userText(a)
		r.Role, r.ToolCallID, r.ToolName, r.IsError = "toolResult", m.ToolCalls()[0].ID, a, true
		b.add(c, EntryToolResult, r, "")
		b.add(c, EntryNote, userText(a), "")
	}
	p.Open("/c/xss")
	p.Until("all is drawn", `document.querySelectorAll(".entries > *").length > 50`)
	browsertest.Eval[bool](p.Tab, `(window.boom = () => { window.boomed = true; }, document.querySelectorAll("details").forEach((d) => (d.open = true)), true)`)
	p.Until("tools are unfolded", `document.querySelectorAll(".tool-body").length > 10`)
	p.Expect("nothing ran", `!window.boomed`)
	p.Expect("no foreign element came into being", `!document.querySelector("#thread :is(img, script, iframe, style, form, base, meta, object, embed, link, video)")`)
	bad := browsertest.Eval[[]string](p.Tab, `[...document.querySelectorAll("#thread *")].flatMap((e) => [...e.attributes].filter((a) =>
		a.name.startsWith("on") || a.name === "style" || (a.name === "href" && e.tagName === "A" && !/^(https?|mailto):/.test(a.value))).map((a) => e.tagName + " " + a.name + "=" + a.value))`)
	if len(bad) > 0 {
		t.Errorf("attributes that do something: %q", bad)
	}
	p.Expect("links tell their target nothing", `[...document.querySelectorAll("#thread a")].every((a) => a.rel.includes("noopener") && a.target === "_blank")`)
}

func TestMarkdownOfAnyShapeIsReadInLinearTime(t *testing.T) {
	p := browse(t)
	p.Open("/")
	// Each is 200 kB of something that makes careless parsers quadratic: with
	// those the page would not come back before the test's patience ends.
	read := browsertest.Eval[int](p.Tab, `import("/assets/markdown.js").then(({ render }) => {
		const n = 200000;
		const many = (s) => s.repeat(n / s.length);
		let read = 0;
		for (const [name, source] of Object.entries({
			brackets: many("["), images: many("!["), links: many("[a](b"), nested: many("[") + many("](x)"), backticks: many("`+"`"+` "), runs: Array.from({ length: 600 }, (_, i) => "`+"`"+`".repeat(i)).join(" "),
			stars: many("*"), opens: many("*a "), mixed: many("*a _b ~~c "), quotes: many(">"), bars: many("|"), rows: "|a|\n|-|\n" + many("|b|\n"),
			lists: many("- "), items: many("- a\n"), hashes: many("#"), entities: many("&"), angles: many("<http://"), addresses: many("http://a.b)"), underscores: many("_a"), backslashes: many("\\"), parens: "[a](" + many("("), blank: many(" \n"), tabs: many("\t"),
		})) {
			const el = document.createElement("div");
			render(el, source);
			if (el.childNodes.length > 0 || name === "blank" || name === "tabs") read++;
		}
		return read;
	})`)
	if read != 23 {
		t.Errorf("%d of 23 shapes were read", read)
	}
}
