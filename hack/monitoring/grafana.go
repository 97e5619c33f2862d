// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import "slices"

// schemaVersion is the version of Grafana's JSON format that the following types describe.
const schemaVersion = 42

// The fields of Grafana's JSON format that the dashboards use. Other fields have Grafana's defaults. The format is described in
// https://grafana.com/docs/grafana/latest/dashboards/build-dashboards/view-dashboard-json-model/.
type (
	dashboard struct {
		UID           string     `json:"uid"`
		Title         string     `json:"title"`
		Description   string     `json:"description"`
		Tags          []string   `json:"tags"`
		SchemaVersion int        `json:"schemaVersion"`
		Refresh       string     `json:"refresh"`
		Time          timeRange  `json:"time"`
		Links         []link     `json:"links"`
		Templating    templating `json:"templating"`
		Panels        []panel    `json:"panels"`
	}

	timeRange struct {
		From string `json:"from"`
		To   string `json:"to"`
	}

	// link leads to all dashboards with these tags. With KeepTime, the time range stays the same.
	link struct {
		Type     string   `json:"type"`
		Title    string   `json:"title"`
		Tags     []string `json:"tags"`
		KeepTime bool     `json:"keepTime"`
	}

	templating struct {
		List []variable `json:"list"`
	}

	variable struct {
		Name       string  `json:"name"`
		Label      string  `json:"label"`
		Type       string  `json:"type"`
		Query      string  `json:"query"`
		Datasource *source `json:"datasource,omitempty"`
		Refresh    int     `json:"refresh,omitempty"`
		Sort       int     `json:"sort,omitempty"`
		Multi      bool    `json:"multi,omitempty"`
		IncludeAll bool    `json:"includeAll,omitempty"`
		AllValue   string  `json:"allValue,omitempty"`
	}

	source struct {
		Type string `json:"type"`
		UID  string `json:"uid"`
	}

	panel struct {
		ID          int            `json:"id"`
		Type        string         `json:"type"`
		Title       string         `json:"title"`
		Description string         `json:"description"`
		GridPos     position       `json:"gridPos"`
		Datasource  source         `json:"datasource"`
		FieldConfig fieldConfig    `json:"fieldConfig"`
		Options     map[string]any `json:"options,omitempty"`
		Targets     []query        `json:"targets"`
	}

	position struct {
		X int `json:"x"`
		Y int `json:"y"`
		W int `json:"w"`
		H int `json:"h"`
	}

	fieldConfig struct {
		Defaults fieldDefaults `json:"defaults"`
	}

	fieldDefaults struct {
		Unit       string         `json:"unit"`
		Min        *float64       `json:"min,omitempty"`
		Max        *float64       `json:"max,omitempty"`
		Thresholds *thresholds    `json:"thresholds,omitempty"`
		Links      []dataLink     `json:"links,omitempty"`
		Custom     map[string]any `json:"custom,omitempty"`
	}

	thresholds struct {
		Mode  string `json:"mode"`
		Steps []step `json:"steps"`
	}

	step struct {
		Color string   `json:"color"`
		Value *float64 `json:"value"`
	}

	dataLink struct {
		Title string `json:"title"`
		URL   string `json:"url"`
	}

	query struct {
		RefID        string `json:"refId"`
		Expr         string `json:"expr"`
		LegendFormat string `json:"legendFormat"`
		Instant      bool   `json:"instant,omitempty"`
		Format       string `json:"format,omitempty"`
	}
)

// columns is the width of a dashboard in the units of position.
const columns = 24

var prometheus = source{Type: "prometheus", UID: "${datasource}"}

// newDashboard returns a dashboard with these panels, arranged from left to right and from top to bottom.
func newDashboard(uid, title, description string, variables []variable, panels []panel) dashboard {
	x, y, height := 0, 0, 0
	for i := range panels {
		at := &panels[i].GridPos
		if x+at.W > columns {
			x, y, height = 0, y+height, 0
		}
		at.X, at.Y = x, y
		x, height = x+at.W, max(height, at.H)
		panels[i].ID = i + 1
	}
	return dashboard{
		UID: uid, Title: title, Description: description, Tags: []string{"memcached"}, SchemaVersion: schemaVersion,
		Refresh: "1m", Time: timeRange{From: "now-6h", To: "now"},
		Links: []link{{Type: "dashboards", Title: "Memcached", Tags: []string{"memcached"}, KeepTime: true}},
		Templating: templating{List: append([]variable{
			{Name: "datasource", Label: "Data source", Type: "datasource", Query: "prometheus"},
		}, variables...)},
		Panels: panels,
	}
}

// choice returns a variable whose values are the values of a label of the series. The variable has the name of the label. Grafana reads
// the values again whenever the time range changes.
func choice(name, label, series string) variable {
	return variable{
		Name: name, Label: label, Type: "query", Query: "label_values(" + series + ", " + name + ")",
		Datasource: &prometheus, Refresh: 2, Sort: 1,
	}
}

// graph returns a panel that shows queries over time. The last arguments are pairs of an expression and its legend.
func graph(title, description, unit string, expressionsAndLegends ...string) panel {
	p := newPanel("timeseries", title, description, unit, 12, 8, expressionsAndLegends)
	p.FieldConfig.Defaults.Custom = map[string]any{"fillOpacity": 10, "showPoints": "never"}
	p.Options = map[string]any{
		"legend":  map[string]any{"displayMode": "table", "placement": "right", "calcs": []string{"lastNotNull", "max"}},
		"tooltip": map[string]any{"mode": "multi", "sort": "desc"},
	}
	return p
}

// number returns a panel that shows the current values of queries. The last arguments are pairs of an expression and its legend.
func number(title, description, unit string, expressionsAndLegends ...string) panel {
	p := newPanel("stat", title, description, unit, 4, 4, expressionsAndLegends)
	for i := range p.Targets {
		p.Targets[i].Instant = true
	}
	p.Options = map[string]any{"textMode": "auto", "graphMode": "none"}
	return p
}

// refIDs contains the names of a panel's queries, one letter each.
const refIDs = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

func newPanel(kind, title, description, unit string, width, height int, expressionsAndLegends []string) panel {
	p := panel{
		Type: kind, Title: title, Description: description, Datasource: prometheus, GridPos: position{W: width, H: height},
		FieldConfig: fieldConfig{Defaults: fieldDefaults{Unit: unit}},
	}
	for pair := range slices.Chunk(expressionsAndLegends, 2) {
		p.Targets = append(p.Targets, query{RefID: refIDs[len(p.Targets):][:1], Expr: pair[0], LegendFormat: pair[1]})
	}
	return p
}

// fromZero starts the panel's axis at zero, so that small changes do not look large. The axis ends at the maximum, if one is given.
func (p panel) fromZero(maximum ...float64) panel {
	zero := 0.0
	p.FieldConfig.Defaults.Min = &zero
	if len(maximum) > 0 {
		p.FieldConfig.Defaults.Max = &maximum[0]
	}
	return p
}

func (p panel) stacked() panel {
	p.FieldConfig.Defaults.Custom["stacking"] = map[string]any{"mode": "normal"}
	return p
}

// orZero returns an expression with the result of count, or 0 if count has no result. The expression in the argument always has a result
// whenever there is any data. Without data, orZero's expression has no result either, so that a panel does not show 0.
func orZero(count, always string) string { return count + " or 0 * count(" + always + ")" }

// red shows values of at least 1 in red, and lower ones in green.
func (p panel) red() panel {
	from := 1.0
	p.FieldConfig.Defaults.Thresholds = &thresholds{
		Mode: "absolute", Steps: []step{{Color: "green"}, {Color: "red", Value: &from}},
	}
	return p
}

func (p panel) leadingTo(title, url string) panel {
	p.FieldConfig.Defaults.Links = []dataLink{{Title: title, URL: url}}
	return p
}
