package text

import "testing"

// The results are those of html.unescape of Python 3.11.
func TestCharacterReferencesAreResolvedAsByPython(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "&": "&", "a && b &": "a && b &", "&amp;lt;": "&lt;", "&amp&amp;": "&&", "&copy2": "©2", "&notit;": "¬it;",
		"&bogus;":       "&bogus;",
		"&eacute;glise": "église", "&NotEqualTilde;": "≂̸", "&#65;&#x42&#X43;d": "ABCd", "&#8217;": "’", "&#150;": "–",
		"&#x81;": "\u0081",
		"&#":     "&#", "&#;": "&#;", "&#x;": "&#x;", "&#xZ;": "&#xZ;", "&#8;x": "x", "&#0;": "\uFFFD", "&#xD800;": "\uFFFD",
		"&#x110000;":    "\uFFFD",
		"&#4294967361;": "\uFFFD", "&#xFFFE;x": "x", "&#x1FFFF;x": "x", "&#xFDD0;x": "x", "&#13;&#10;&#9;": "\r\n\t",
		"&#127;x": "x", "&#65x": "Ax",
	} {
		if got := unescape(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}
