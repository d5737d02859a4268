// Command quantities answers, for each JSON value of standard input, what k8s.io/apimachinery's resource package makes
// of it: a string is parsed, a list ["a" or "s", LEFT, RIGHT] is added or subtracted, and compared. The answers are
// lines of JSON in the form of tests/model/quantities.jsonl.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
)

const patience = 2 * time.Second

type answer map[string]any

func parsed(text string) answer {
	quantity, err := resource.ParseQuantity(text)
	if err != nil {
		return answer{"in": text, "error": err.Error()}
	}
	found := numbers(quantity)
	found["in"], found["sign"] = text, quantity.Sign()
	found["milli"] = quantity.MilliValue()
	return found
}

func numbers(quantity resource.Quantity) answer {
	value := quantity.Value()
	_, isInt64 := quantity.AsInt64()
	format := string(quantity.Format)
	return answer{"text": quantity.String(), "value": value, "format": format, "int64": isInt64}
}

func combined(parts []string) (answer, error) {
	left, leftErr := resource.ParseQuantity(parts[1])
	right, rightErr := resource.ParseQuantity(parts[2])
	if err := errors.Join(leftErr, rightErr); err != nil {
		return nil, err
	}
	order := left.Cmp(right)
	sum := left.DeepCopy()
	if parts[0] == "a" {
		sum.Add(right)
	} else {
		sum.Sub(right)
	}
	found := numbers(sum)
	found["in"], found["cmp"] = parts, order
	return found, nil
}

func answerTo(line []byte) answer {
	var text string
	if json.Unmarshal(line, &text) == nil {
		return parsed(text)
	}
	var parts []string
	if err := json.Unmarshal(line, &parts); err != nil || len(parts) != 3 {
		return answer{"unreadable": strings.TrimSpace(string(line))}
	}
	found, err := combined(parts)
	if err != nil {
		return answer{"in": parts, "error": err.Error()}
	}
	return found
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	out := json.NewEncoder(os.Stdout)
	out.SetEscapeHTML(false)
	for lines.Scan() {
		line := append([]byte(nil), lines.Bytes()...)
		done := make(chan answer, 1)
		go func() { done <- answerTo(line) }()
		select {
		case found := <-done:
			_ = out.Encode(found)
		case <-time.After(patience):
			_ = out.Encode(answer{"in": json.RawMessage(line), "slow": true})
		}
	}
}
