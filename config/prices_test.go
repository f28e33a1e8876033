package config

import (
	"strings"
	"testing"
	"time"
)

const priced = "[agent]\nmodel = \"x/m\"\n[providers.x]\nformat = \"openai\"\nbase_url = \"http://127.0.0.1:1\"\n"

func TestPricesWithDatesAreRead(t *testing.T) {
	cfg, err := load(t, priced+`[providers.x.models.m]
prices = [
  { input = 3, output = 15 },
  { from = 2026-07-01, input = 2.5, output = 10, long_after = 200000, long = { input = 4, output = 20 } },
  { from = "2026-09-01", input = 1, output = 2 },
  { from = 2026-10-01T02:00:00+02:00, input = 1, output = 1 },
]
`)
	if err != nil {
		t.Fatal(err)
	}
	prices := cfg.Providers["x"].Models["m"].Prices
	var from []string
	for _, p := range prices {
		from = append(from, p.From.Format(time.RFC3339))
	}
	if got := strings.Join(from, " "); got != "0001-01-01T00:00:00Z 2026-07-01T00:00:00Z 2026-09-01T00:00:00Z 2026-10-01T00:00:00Z" {
		t.Errorf("the prices hold from %s", got)
	}
	if p := prices[1]; p.LongAfter != 200_000 || p.Long.Input != 4 || p.Long.Output != 20 {
		t.Errorf("long requests cost %+v", p)
	}
}

func TestPricesAndCapsThatCanNotBeMeantAreRefusedWithTheirPlace(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"a misspelt price": {"[providers.x.models.m]\nprice = { input = 3, ouput = 15 }\n",
			"clawbot.toml:7:22: providers.x.models.m.price.ouput: unknown key; did you mean providers.x.models.m.price.output?"},
		"a misspelt price in a list, with a cap": {"[providers.x.models.m]\nprices = [{ inptu = 3, output = 15 }]\n[budget]\ndaily_usd = 1\n",
			"clawbot.toml:7:13: providers.x.models.m.prices.0.inptu: unknown key; did you mean providers.x.models.m.prices.0.input?"},
		"a negative price": {"[providers.x.models.m]\nprice = { input = -3, output = 15 }\n",
			"clawbot.toml:7:11: providers.x.models.m.price.input: -3 is too small; the least is 0"},
		"no number": {"[providers.x.models.m]\nprice = { input = nan, output = 15 }\n",
			"clawbot.toml:7:11: providers.x.models.m.price.input: expected a number, found a number with a fraction (NaN)"},
		"an odd date": {"[providers.x.models.m]\nprice = { from = \"soon\", input = 1, output = 15 }\n",
			"clawbot.toml:7:11: providers.x.models.m.price.from: \"soon\" is no date; write one like 2026-01-31"},
		"a date twice": {"[providers.x.models.m]\nprices = [{ input = 1, output = 15 }, { input = 2, output = 15 }]\n",
			"clawbot.toml:7:39: providers.x.models.m.prices.1: another price holds from the same date; give each its own"},
		"both": {"[providers.x.models.m]\nprice = { input = 1, output = 15 }\nprices = [{ input = 2, output = 15 }]\n",
			"clawbot.toml:8:1: providers.x.models.m.prices: price is set too; keep one of them"},
		"no price for output, with a cap": {"[providers.x.models.m]\nprice = { input = 3 }\n[budget]\nuser_usd = 1\n",
			"clawbot.toml:7:1: providers.x.models.m.price: has no output, which then costs nothing and escapes the cap of [budget]; write output = 0 if that is so"},
		"a negative cap": {"[budget]\nsession_usd = -0.5\n", "clawbot.toml:7:1: budget.session_usd: -0.5 is too small; the least is 0"},
		"an endless cap": {"[budget]\ndaily_usd = inf\n", "clawbot.toml:7:1: budget.daily_usd: expected a number, found a number with a fraction (+Inf)"},
		"no cap at all":  {"[budget]\ndaily_usd = nan\n", "clawbot.toml:7:1: budget.daily_usd: expected a number, found a number with a fraction (NaN)"},
		"a misspelt cap": {"[budget]\ndaily_used = 5\n", "clawbot.toml:7:1: budget.daily_used: unknown key; did you mean budget.daily_usd?"},
		"a cap in words": {"[budget]\ndaily_usd = \"5\"\n", "clawbot.toml:7:1: budget.daily_usd: expected a number, found the text \"5\""},
	} {
		_, err := load(t, priced+c.text)
		if got := problems(t, err); len(got) != 1 || got[0] != c.want {
			t.Errorf("%s:\n got %v\nwant %s", name, got, c.want)
		}
	}
}

func TestAPriceOfNothingIsNoProblemWhereItIsSaid(t *testing.T) {
	for _, text := range []string{
		"[providers.x.models.m]\nprice = { input = 0, output = 0 }\n[budget]\ndaily_usd = 1\n",
		"[providers.x.models.m]\nprice = { input = 3 }\n",
	} {
		if _, err := load(t, priced+text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}
