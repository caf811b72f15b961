package address

import "testing"

// AWS's secrets have a slash in every second case; a @ in a path is none of a password.
func TestSecretsAreLeftOut(t *testing.T) {
	for text, want := range map[string]string{
		"s3://KEY:SEC/RET@bucket/x":        "s3://…@bucket/x",
		"s3://KEY:S@E/C@RET@bucket/x":      "s3://…@bucket/x",
		"s3://KEY:SEC/RET":                 "s3://…",
		"S3://KEY@bucket/x":                "S3://…@bucket/x",
		"s3://bucket/a@b:c":                "s3://bucket/a@b:c",
		"https://u:p w\"/é@host/x":         "https://…@host/x",
		"https://u@host":                   "https://…@host",
		"https://host:8080/x":              "https://host:8080/x",
		"https://host/@x":                  "https://host/@x",
		"a file@home":                      "a file@home",
		"postgres://u:12/34@db:5432/table": "postgres://…@db:5432/table",
	} {
		if got := WithoutSecret(text); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	text := `-o out=s3://K:S/R@b/x: "https://u:long… cut" and 'https://u:p@h/y', not http://[::1]:80/z, "https://h:1": a@b`
	want := `-o out=s3://…@b/x: "https://… cut" and 'https://…@h/y', not http://[::1]:80/z, "https://h:1": a@b`
	if got := Scrub(text); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}
