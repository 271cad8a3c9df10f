//! Which cell is how full, and what its row is called.

use super::*;

fn map(rows: usize, columns: usize, values: Vec<f64>) -> HeatMap {
    let names = (0..rows).map(|row| format!("r{row}")).collect();
    let (x, value) = (Axis::new("time", Unit::Seconds), Axis::new("share", Unit::Ratio));
    HeatMap::new("t", x, (0.0, 1.0), columns, "rank", names, value).class("a", values)
}

fn shades(map: &HeatMap, levels: &Levels) -> Vec<u8> {
    Grid::new(map.rows.len(), map.columns).bytes(&map.classes[0].1, levels)
}

#[test]
fn a_cell_is_as_full_as_its_value_and_in_its_row() {
    let map = map(2, 3, vec![0.0, 1.0, 2.0, 4.0, f64::NAN, 1e-9, 99.0]);
    let levels = Levels::new(false, Some(1e-9), 4.0);
    assert_eq!(shades(&map, &levels), [0, 64, 128, 255, 0, 1]);
    let data = map.draw(760.0).data.unwrap();
    assert_eq!((&data["columns"], &data["greatest"]), (&json!(3), &json!(4.0)));
    assert_eq!(data["rows"], json!(["r0", "r1"]));
}

#[test]
fn shades_may_stand_for_orders_of_magnitude() {
    let levels = Levels::new(true, Some(1.0), 1e4);
    assert_eq!([1.0, 100.0, 1e4].map(|value| levels.of(value)), [1, 128, 255]);
    // No further down than a millionth.
    let levels = Levels::new(true, Some(1e-30), 1.0);
    assert_eq!([1e-30, 1e-6, 1e-3, 1.0].map(|value| levels.of(value)), [1, 1, 128, 255]);
    assert_eq!(Levels::new(true, Some(2.0), 2.0).of(2.0), 255, "one value needs no scale");
}

#[test]
fn neighbours_share_a_cell_that_shows_the_greatest() {
    let (rows, columns) = (2 * ROWS_MAX - 1, COLUMNS_MAX + 1);
    let mut values = vec![0.0; rows * columns];
    // Row 2 and its last column but one; the last row, which is alone.
    values[2 * columns + columns - 2] = 1.0;
    values[3 * columns + columns - 2] = 2.0;
    values[(rows - 1) * columns] = 4.0;
    let merged = map(rows, columns, values);
    let grid = Grid::new(rows, columns);
    assert_eq!((grid.rows_merged, grid.columns_merged), (2, 2));
    assert_eq!((grid.rows, grid.columns), (ROWS_MAX, columns.div_ceil(2)));
    let bytes = shades(&merged, &Levels::new(false, None, 4.0));
    let filled: Vec<(usize, u8)> =
        bytes.iter().copied().enumerate().filter(|(_, byte)| *byte > 0).collect();
    let wide = grid.columns;
    assert_eq!(filled, [(wide + (columns - 2) / 2, 128), ((ROWS_MAX - 1) * wide, 255)]);
    assert_eq!(merged.row_name(&grid, 1), "r2 to r3");
    assert_eq!(merged.row_name(&grid, ROWS_MAX - 1), format!("r{}", rows - 1));
    assert!(merged.draw(760.0).notes.iter().any(|note| note.contains("stands for 2 x 2 cells")));
    assert!(map(3, 3, vec![1.0; 9]).draw(760.0).notes.is_empty());
}

#[test]
fn row_names_are_at_their_rows_and_do_not_touch() {
    for rows in [1, 4, 40, 250] {
        let map = map(rows, 2, vec![1.0; 2 * rows]);
        let grid = Grid::new(rows, 2);
        let (frame, text) =
            (map.frame(&grid, 760.0), map.row_names(&map.frame(&grid, 760.0), &grid));
        let slot = frame.height / rows as f64;
        let places: Vec<(usize, f64)> = text
            .split("<text ")
            .skip(1)
            .map(|label| {
                let y = label.split("y=\"").nth(1).unwrap().split('"').next().unwrap();
                let name = label.split('>').nth(1).unwrap().split('<').next().unwrap();
                (name[1..].parse().unwrap(), y.parse().unwrap())
            })
            .collect();
        assert!(places[0].0 == 0 && (rows > 4 || places.len() == rows), "{text}");
        for (row, y) in &places {
            let middle = frame.top + (*row as f64 + 0.5) * slot;
            assert!((y - 4.0 - middle).abs() < 0.11, "{row}: {y}");
        }
        let is_apart = |pair: &[(usize, f64)]| pair[1].1 - pair[0].1 >= 17.0;
        assert!(rows < 5 || places.windows(2).all(is_apart), "{places:?}");
    }
}

#[test]
fn the_table_has_sums_of_what_is_drawn() {
    let table = map(2, 2, vec![0.0, 1.0, 3.0, f64::NAN, 50.0]).draw(760.0).table.unwrap();
    let html = table.to_html();
    for cell in [">2<", ">1.000<", ">3.000<"] {
        assert!(html.contains(cell), "{cell}: {html}");
    }
    assert!(!html.contains("50"), "{html}");
}

#[test]
fn steps_between_names_are_round() {
    let steps = [0, 1, 2, 3, 5, 6, 11, 21, 51, 101, 999].map(round_up);
    assert_eq!(steps, [1, 1, 2, 5, 5, 10, 20, 50, 100, 200, 200]);
}
