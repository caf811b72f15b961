//go:build browser

package browsertest

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hgld/curate"
	"hgld/internal/testing/must"
	"hgld/labels"

	"github.com/chromedp/cdproto/cdp"
	cdpage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// hostile lists 60 ways to smuggle a script into a page as text.
func hostile() []string {
	list := []string{
		`<script>xss()</script>`, `<img src=x onerror=xss()>`, `<svg onload=xss()>`, `"><script>xss()</script>`,
		`'><img src=x onerror=xss()>`,
		`<body onload=xss()>`, `<iframe src="javascript:xss()">`, `javascript:xss()`, `<a href="javascript:xss()">x</a>`,
		`<details open ontoggle=xss()>`,
		`<input autofocus onfocus=xss()>`, `<video><source onerror=xss()>`, `<math href="javascript:xss()">`,
		`</title><script>xss()</script>`, `</textarea><script>xss()</script>`,
		`</style><script>xss()</script>`, `--><script>xss()</script>`, `<!--<img src="--><img src=x onerror=xss()//">`,
		`<style>*{background:url(javascript:xss())}</style>`, `<link rel=stylesheet href=javascript:xss()>`,
		`<meta http-equiv=refresh content="0;url=javascript:xss()">`, `<object data="javascript:xss()">`,
		`<embed src="javascript:xss()">`, `<base href="javascript:xss()//">`, `<form action=javascript:xss()><button>x`,
		`<isindex action=javascript:xss()>`, `<marquee onstart=xss()>`, `<select autofocus onfocus=xss()>`,
		`<keygen autofocus onfocus=xss()>`, `<svg><script>xss()</script></svg>`,
		`<svg><animate onbegin=xss() attributeName=x>`, `<svg/onload=xss()>`, `<IMG SRC=x ONERROR=xss()>`,
		`<scr<script>ipt>xss()</scr</script>ipt>`, `<img src=x:x onerror=&#120;ss()>`,
		`&lt;script&gt;xss()&lt;/script&gt;`, `&#60;script&#62;xss()&#60;/script&#62;`,
		`\u003cscript\u003exss()\u003c/script\u003e`, `\x3cscript\x3exss()\x3c/script\x3e`, `%3Cscript%3Exss()%3C/script%3E`,
		"{{constructor.constructor('xss()')()}}", "${xss()}", "#{xss()}", `{{.Token}}`, `<% xss() %>`, "`;xss()//", `';xss()//`, `";xss()//`, `\";xss()//`, `</script><script>xss()</script>`,
		"<img src=x\tonerror=xss()>", "<img src=x\nonerror=xss()>", "\u202e<img src=x onerror=xss()>", "\u2028xss()", "<img src=`x`onerror=xss()>", `data:text/html,<script>xss()</script>`,
		`<template><img src=x onerror=xss()></template>`, `<noscript><p title="</noscript><img src=x onerror=xss()>">`, `<a id=x tabindex=1 onfocus=xss()>`, `__proto__`,
	}
	return list
}

// 60 hostile strings stand in every field that the page shows: labels, items, groups, kinds, notes,
// reasons, names of curators and files, titles and links of landmarks. None of them runs, and
// none violates the content policy.
func TestHostileTextNeverRuns(t *testing.T) {
	list := hostile()
	if len(list) != 60 {
		t.Fatalf("%d hostile strings, want 60", len(list))
	}
	dir := t.TempDir()
	d := &labels.Draft{Version: labels.DraftVersion}
	var tags strings.Builder
	tags.WriteString(`{"hgld_tags":1}` + "\n")
	for i, text := range list {
		d.Tags = append(d.Tags, labels.DraftTag{Tag: labels.Tag{Name: text, QID: "Q" + text}, Landmarks: 1, Images: 2})
		d.Clusters = append(d.Clusters, labels.Cluster{ID: i, Name: text, Members: []labels.Member{{Tag: i}}})
		fmt.Fprintf(&tags, `{"landmark_id":%d,"split":"train","category":%q,"title":%q,"outcome":"ok","tag":%s,"qid":%s}`+"\n", i, "javascript:xss()", "Category:x", quoteJSON(t, text), quoteJSON(t, "Q"+text))
	}
	for _, text := range list[:3] { // clusters that are called like a declared group
		d.Clusters = append(d.Clusters, labels.Cluster{ID: len(d.Clusters), Name: text + " ", Members: []labels.Member{{Tag: len(d.Tags)}}})
		d.Tags = append(d.Tags, labels.DraftTag{Tag: labels.Tag{Name: text + " "}, Landmarks: 1})
	}
	writeDraft(t, dir, d)
	must.Do(t, os.WriteFile(filepath.Join(dir, "tags.jsonl"), []byte(tags.String()), 0o644))
	var edits []curate.Edit
	for i, text := range list {
		tag, group := []curate.Ref{{Name: text, QID: "Q" + text}}, []curate.Ref{{Name: text}}
		edits = append(edits, curate.Edit{Op: curate.Note, From: tag, Note: text},
			curate.Edit{Op: curate.Flag, From: tag, Note: text},
			curate.Edit{Op: curate.SetParent, Level: 1, From: group, To: text},
			curate.Edit{Op: curate.Note, Level: 1, From: group, Note: text})
		if i%3 == 0 {
			edits = append(edits, curate.Edit{Op: curate.Drop, From: tag, Note: text})
		}
	}
	path := createLog(t, dir, "edits.jsonl", curate.Header{By: list[0], Draft: list[1]})
	appendEdits(t, path, list[2], d, edits...)
	s := startServer(t, dir)
	b := newPage(t, 1280, 800, false)
	b.Run(chromedp.Func(addXSS))
	b.Open(s.url)
	for range list {
		b.Keys("j", "i")
	}
	for _, screen := range []string{"dropped", "flagged", "search"} {
		b.screen(screen)
		if screen == "search" {
			b.Keys("xss")
			for _, facet := range []string{"by", "how", "day", "mark"} {
				b.Focus("#facet-" + facet)
			}
			b.Focus("#query")
			b.Keys(kb.Enter)
		}
		b.Keys(kb.End, kb.Home)
		b.Ctrl("a")
		b.Keys(kb.Escape)
	}
	for _, key := range []string{"m", "g", "p", "r", "n", "x", "f", "t", "e", "w", "?", "G", "E"} {
		b.Keys(key)
		b.Until("the dialog of "+key, `document.querySelector("dialog[open] button, dialog[open] .choice")`)
		b.Keys(kb.Escape)
		b.Until("it is closed", `!document.querySelector("dialog[open]")`)
	}
	if n := eval[int](b, `window.xssed || 0`); n != 0 {
		t.Errorf("%d hostile strings ran", n)
	}
	if n := eval[int](b, `document.querySelectorAll("body script, iframe, object, embed, video, math, form, body style, body link, main img").length`); n != 0 {
		t.Errorf("%d elements came from text", n)
	}
	if n := eval[int](b, `[...document.links].filter(a => !/^https:/.test(a.href)).length`); n != 0 {
		t.Errorf("%d links lead elsewhere", n)
	}
}

// addXSS defines the function that hostile strings call.
func addXSS(ctx context.Context, tab *chromedp.Target) error {
	_, err := cdp.Call(ctx, tab, cdpage.AddScriptToEvaluateOnNewDocument, cdpage.AddScriptToEvaluateOnNewDocumentParams{Source: `window.xss = () => { window.xssed = (window.xssed || 0) + 1; }`})
	return err
}

func quoteJSON(t testing.TB, text any) string {
	t.Helper()
	data := must.Get(json.Marshal(text))(t)
	return string(data)
}
