package cluster

import (
	"errors"
	"slices"
	"testing"

	"hgld/internal/registry"
)

func TestParsePromptReadsNamesAndTemplates(t *testing.T) {
	for text, want := range map[string]Prompt{
		"tag": "{}", "tag,photo": "{}\na photo of a {}", "the {}, seen": "the {}, seen",
	} {
		if got, err := ParsePrompt(text); err != nil || got != want {
			t.Errorf("%s: %q, %v; want %q", text, string(got), err, string(want))
		}
	}
	if _, err := ParsePrompt("tag,foto"); !errors.As(err, new(*registry.UnknownError)) {
		t.Errorf("%v is not an unknown name", err)
	}
	if _, err := ParsePrompt("a {}\nno place"); err == nil {
		t.Error("a sentence without a place for the tag was taken")
	}
}

func TestTextsOfAPromptAreDifferent(t *testing.T) {
	got, err := Prompt("{}\na {}").Texts([]string{"church", "a church"})
	if want := []string{"church", "a church", "a a church"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v; want %q", got, err, want)
	}
}
