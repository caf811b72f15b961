package fakecommons

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"hgld/internal/testing/must"
	"hgld/labels"
)

func get(t *testing.T, url string) (*http.Response, string, error) {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		return nil, "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return resp, string(body), err
}

func TestEveryCategoryOfTheTableIsServed(t *testing.T) {
	categories := []Category{
		{Landmark: 0, Title: "Category:Happy Valley Racecourse", Values: []Value{{Text: "horse racing venue"}}},
		{Landmark: 1, Title: "Category:Tweed Heads, New South Wales", Values: []Value{{Text: "town"}}},
		{Landmark: 2, Title: `Category:"A" & B? 100% (Göttingen)/x+y`, Values: []Value{{Text: "<b>&"}}},
	}
	fake := New(categories)
	server := httptest.NewServer(fake)
	defer server.Close()
	var table bytes.Buffer
	must.Do(t, WriteCSV(&table, categories))
	read := must.Get(labels.ParseCSV(&table, "train_label_to_category.csv", labels.ReadOptions{}))(t)
	for i, row := range read.Rows {
		resp, body, err := get(t, strings.Replace(row.Category, "http://commons.wikimedia.org", server.URL, 1))
		if err != nil || resp.StatusCode != 200 || int(row.Landmark) != i ||
			!strings.Contains(body, "<li>"+[]string{"horse racing venue", "town", "&lt;b&gt;&amp;"}[i]+"</li>") {
			t.Errorf("%s: %v, %v", row.Category, resp, err)
		}
		if fake.Requests()[categories[i].Title] != 1 {
			t.Errorf("%s was counted %d times", categories[i].Title, fake.Requests()[categories[i].Title])
		}
	}
}

func TestFaultsComeBeforeThePage(t *testing.T) {
	fake := New([]Category{{Title: "Category:A", Values: []Value{{Text: "park"}}, Faults: []Fault{
		{Status: 429, RetryAfter: "2.5"}, {Cut: 100}, {Type: "application/json", Body: "{}"}, {Delay: time.Millisecond}}}})
	server := httptest.NewServer(fake)
	defer server.Close()
	url := server.URL + "/wiki/Category:A"
	if resp, body, err := get(t, url); err != nil || resp.StatusCode != 429 || resp.Header.Get("Retry-After") != "2.5" ||
		strings.Contains(body, "park") {
		t.Errorf("first: %v, %v", resp, err)
	}
	if _, body, err := get(t, url); err != io.ErrUnexpectedEOF || len(body) != 100 {
		t.Errorf("second: %d bytes, %v", len(body), err)
	}
	if resp, body, err := get(t, url); err != nil || resp.Header.Get("Content-Type") != "application/json" ||
		body != "{}" {
		t.Errorf("third: %v, %q, %v", resp, body, err)
	}
	for range 2 {
		if resp, body, err := get(t, url); err != nil || resp.StatusCode != 200 || !strings.Contains(body, "<li>park</li>") {
			t.Errorf("then: %v, %v", resp, err)
		}
	}
	if resp, body, err := get(t, server.URL+"/wiki/Category:B"); err != nil || resp.StatusCode != 404 ||
		!strings.HasSuffix(body, "</html>\n") {
		t.Errorf("another title: %v, %v", resp, err)
	}
	if _, body, err := get(t, server.URL+"/robots.txt"); err != nil || body != Robots {
		t.Errorf("robots.txt: %q, %v", body, err)
	}
}
