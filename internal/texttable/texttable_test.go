package texttable

import (
	"fmt"
	"strings"
	"testing"

	"hgld/internal/testing/must"
)

var example = Table{Title: "a & b", Head: []string{"%", "x_1"}, Rows: [][]string{{"AP|R", "1.00 ±0.5"}, {"P", "–"}},
	Note: "* first\nsecond"}

func TestTableIsWrittenInEveryFormat(t *testing.T) {
	for format, want := range map[string]string{
		"text": "a & b\n" +
			"%                      x_1\n" +
			"AP|R             1.00 ±0.5\n" +
			"P                        –\n" +
			"* first\nsecond\n",
		"markdown": "a & b\n\n| % | x_1 |\n|---|---:|\n| AP\\|R | 1.00 ±0.5 |\n| P | – |\n\n\\* first; second\n",
		"latex": "% a & b\n\\begin{tabular}{lr}\n\\toprule\n\\% & x\\_1 \\\\\n\\midrule\n" +
			"AP\\textbar{}R & 1.00 $\\pm$0.5 \\\\\nP & -- \\\\\n\\bottomrule\n\\end{tabular}\n% * first\n% second\n",
		"csv": "%,x_1\nAP|R,1.00 ±0.5\nP,–\n",
	} {
		var b strings.Builder
		if err := example.Write(&b, format); err != nil || b.String() != want {
			t.Errorf("%s: %v\n%s\nwant\n%s", format, err, b.String(), want)
		}
		if err := CheckFormat(format); err != nil {
			t.Error(err)
		}
	}
	// The first cell would be an argument of the \\ before it, and pdflatex lacks Greek letters in text.
	var b strings.Builder
	if err := (Table{Head: []string{"λ"}, Rows: [][]string{{"[1, 2]"}}}).Write(&b, "latex"); err != nil ||
		!strings.Contains(b.String(), "\n$\\lambda$ \\\\\n\\midrule\n{}[1, 2] \\\\\n") {
		t.Errorf("%v\n%s", err, b.String())
	}
	// Its fonts have other signs in the places of < > |, and a hyphen is no minus.
	b.Reset()
	row := []string{"lr=1.0e-3 → >", "-0.5", "-1.2 to +3", "[-1.2, -.3]", "2019-2020"}
	if err := (Table{Head: make([]string, 5), Rows: [][]string{row}}).Write(&b, "latex"); err != nil || !strings.Contains(
		b.String(), `lr=1.0e-3 $\to$ $>$ & $-$0.5 & $-$1.2 to +3 & [$-$1.2, $-$.3] & 2019-2020`) {
		t.Errorf("%v\n%s", err, b.String())
	}
	if err := CheckFormat("tex"); err == nil {
		t.Error("the format tex is taken")
	}
}

// The columns of a format are those of fmt.Printf, and grow with their cells.
func TestFormatAlignsAsPrintfDoes(t *testing.T) {
	const format = "%-6s %4s  %s"
	want := fmt.Sprintf(format+"\n", "name", "n", "about") + fmt.Sprintf(format+"\n", "a", "12", "x y")
	if got := Format(format, []string{"name", "n", "about"}, Row("a", 12, "x y")); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := Format(format, Row("seventh", 12345, "z"), Row("a", 1)); got != "seventh 12345  z\na           1\n" {
		t.Errorf("%q", got)
	}
}

// Names come from other people: none is markup, a link, a formula, or moves the cursor.
func TestNamesStayText(t *testing.T) {
	name := "=HYPERLINK(\"x\")"
	c := Table{Title: "a\n# b \x1b[2J", Head: []string{"[c](javascript:x)", "<img src=x>"},
		Rows: [][]string{{name, "-1.5"}, {"+cmd|' /C calc'!A0", "`a` *b* \u202e"}}, Note: "&lt;b"}
	for format, want := range map[string]string{
		"csv": "[c](javascript:x),<img src=x>\n\"'=HYPERLINK(\"\"x\"\")\",-1.5\n'+cmd|' /C calc'!A0,`a` *b* \u202e\n",
		"markdown": "a\\\\n# b \\\\x1b[2J\n\n| [c]\\(javascript:x) | &lt;img src=x> |\n" +
			"|---|---:|\n| =HYPERLINK(\"x\") | -1.5 |\n" +
			"| +cmd\\|' /C calc'!A0 | \\`a\\` \\*b\\* \\\\u202e |\n\n&amp;lt;b\n",
	} {
		var b strings.Builder
		must.Do(t, c.Write(&b, format))
		if b.String() != want {
			t.Errorf("%s:\n%q\nwant\n%q", format, b.String(), want)
		}
	}
}
