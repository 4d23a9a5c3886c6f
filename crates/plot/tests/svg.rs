//! Figures are well-formed SVG that shows what it was given.

use std::error::Error;

use quick_xml::Reader;
use quick_xml::events::Event;
use toller_plot::{Axis, Bars, Curve, Curves, Figure, HeatMap, Panel, Part, PlotError, Style};

type Tested = Result<(), Box<dyn Error>>;

/// The names of all elements, and all texts; an error if the document is not well-formed.
fn parse(svg: &str) -> Result<(Vec<String>, Vec<String>), Box<dyn Error>> {
    let mut reader = Reader::from_str(svg);
    let (mut elements, mut texts, mut text) = (Vec::new(), Vec::new(), String::new());
    loop {
        match reader.read_event()? {
            Event::Start(start) => {
                elements.push(start.name().as_ref().to_owned());
                text.clear();
            }
            Event::Empty(empty) => elements.push(empty.name().as_ref().to_owned()),
            Event::Text(piece) => text.push_str(&piece),
            Event::GeneralRef(reference) => text.push_str(&format!("&{};", &*reference)),
            Event::End(_) => texts.push(std::mem::take(&mut text).trim().to_owned()),
            Event::Eof => return Ok((elements, texts)),
            _ => {}
        }
    }
}

fn curves(points: &[(f64, f64)]) -> Panel {
    let curve = |name: &str, style| Curve { name: name.into(), points: points.to_vec(), style };
    let curves = vec![curve("f32 & <int8>", Style::Measured), curve("floor", Style::Bound)];
    let (x, y) = (Axis::log("queries of a batch"), Axis::linear("milliseconds"));
    Panel { title: "Time".into(), content: Curves { x, y, curves }.into() }
}

fn bars(values: Vec<f64>) -> Panel {
    let part = |name: &str| Part { name: name.into(), values: values.clone() };
    let bars = Bars {
        x_label: "tokens".into(),
        y_label: "% of the time".into(),
        categories: vec!["16".into(), "256".into()],
        parts: vec![part("linear"), part("attention")],
    };
    Panel { title: "Shares".into(), content: bars.into() }
}

fn heat_map(values: Vec<f64>) -> Panel {
    let names = |count: usize| (1..=count).map(|number| format!("{number}0")).collect();
    let map = HeatMap {
        x_label: "k1".into(),
        y_label: "b".into(),
        columns: names(3),
        rows: names(2),
        values,
        marked: Some((1, 2)),
    };
    Panel { title: "Grid".into(), content: map.into() }
}

fn figure(panels: Vec<Panel>) -> Figure {
    Figure { title: "Search \"fast\"".into(), subtitle: "1 < 2 & 3 > 2".into(), panels }
}

#[test]
fn a_figure_is_well_formed_and_says_what_it_shows() -> Tested {
    let panels = vec![curves(&[(1.0, 10.0), (8.0, 12.5), (256.0, 80.0)]), bars(vec![60.0, 40.0])];
    let svg = figure(panels).to_svg()?;
    let (elements, texts) = parse(&svg)?;
    assert_eq!(elements[0], "svg");
    // A dot for each measured point, none for a bound; a bar for each part and category, and keys.
    assert_eq!(elements.iter().filter(|element| *element == "circle").count(), 3);
    for words in [
        "Search &quot;fast&quot;", "1 &lt; 2 &amp; 3 &gt; 2", "Time", "Shares", "f32 &amp; &lt;int8&gt;",
        "floor", "queries of a batch", "milliseconds", "% of the time", "tokens", "16", "256", "8", "80",
        "linear", "attention",
    ] {
        assert!(texts.iter().any(|text| text == words), "{words:?} is not in {texts:?}");
    }
    Ok(())
}

#[test]
fn a_heat_map_has_a_cell_for_each_number() -> Tested {
    let svg = figure(vec![heat_map(vec![0.1, 0.2, 0.3, 0.4, f64::NAN, 0.6789])]).to_svg()?;
    let (elements, texts) = parse(&svg)?;
    // The background, a cell for each finite number, the frame, and the keys of the legend.
    assert_eq!(elements.iter().filter(|element| *element == "rect").count(), 1 + 5 + 1 + 3);
    for words in
        ["k1", "b", "30", "20", ".400", ".679", "0.1000, the lowest", "0.6789, the highest", "k1 30, b 20"]
    {
        assert!(texts.iter().any(|text| text == words), "{words:?} is not in {texts:?}");
    }
    Ok(())
}

#[test]
fn what_a_logarithmic_axis_cannot_show_is_left_out() -> Tested {
    let svg =
        figure(vec![curves(&[(0.0, 1.0), (-5.0, 1.0), (f64::NAN, 1.0), (2.0, f64::INFINITY), (4.0, 3.0)])])
            .to_svg()?;
    assert_eq!(parse(&svg)?.0.iter().filter(|element| *element == "circle").count(), 1);
    Ok(())
}

#[test]
fn what_cannot_be_drawn_is_an_error() {
    assert_eq!(figure(vec![]).to_svg(), Err(PlotError::NoPanel { figure: "Search \"fast\"".into() }));
    let empty = |panel: &str| Err(PlotError::Empty { panel: panel.into() });
    assert_eq!(figure(vec![curves(&[])]).to_svg(), empty("Time"));
    assert_eq!(figure(vec![curves(&[(0.0, 1.0)])]).to_svg(), empty("Time"));
    assert_eq!(figure(vec![bars(vec![f64::NAN, 1.0])]).to_svg(), empty("Shares"));
    let shape = PlotError::BarShape { part: "linear".into(), values: 3, categories: 2 };
    assert_eq!(figure(vec![bars(vec![1.0; 3])]).to_svg(), Err(shape));
    assert_eq!(figure(vec![heat_map(vec![f64::NAN; 6])]).to_svg(), empty("Grid"));
    let cells = PlotError::CellCount { panel: "Grid".into(), values: 5, rows: 2, columns: 3 };
    assert_eq!(figure(vec![heat_map(vec![1.0; 5])]).to_svg(), Err(cells));
}
