CREATE TABLE zone (
    zone_id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    delivery_fee REAL NOT NULL,
    residents INTEGER NOT NULL
);

CREATE TABLE cuisine (
    cuisine_id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE
);

CREATE TABLE restaurant (
    restaurant_id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    zone_id INTEGER NOT NULL REFERENCES zone (zone_id),
    cuisine_id INTEGER NOT NULL REFERENCES cuisine (cuisine_id),
    opened_on DATE NOT NULL,
    price_level INTEGER NOT NULL CHECK (price_level BETWEEN 1 AND 4),
    commission_percent REAL NOT NULL,
    seats INTEGER,
    monthly_revenue REAL NOT NULL
);

CREATE TABLE menu_item (
    menu_item_id INTEGER PRIMARY KEY,
    restaurant_id INTEGER NOT NULL REFERENCES restaurant (restaurant_id),
    name TEXT NOT NULL,
    course TEXT NOT NULL,
    price REAL NOT NULL,
    calories INTEGER,
    vegetarian BOOLEAN NOT NULL
);

CREATE TABLE customer (
    customer_id INTEGER PRIMARY KEY,
    full_name TEXT NOT NULL,
    email TEXT NOT NULL UNIQUE,
    phone TEXT,
    zone_id INTEGER NOT NULL REFERENCES zone (zone_id),
    joined_on DATE NOT NULL,
    marketing_opt_in BOOLEAN NOT NULL
);

CREATE TABLE courier (
    courier_id INTEGER PRIMARY KEY,
    full_name TEXT NOT NULL UNIQUE,
    vehicle TEXT NOT NULL,
    hired_on DATE NOT NULL,
    hourly_wage REAL NOT NULL,
    left_on DATE
);

CREATE TABLE delivery_order (
    order_id INTEGER PRIMARY KEY,
    customer_id INTEGER NOT NULL REFERENCES customer (customer_id),
    restaurant_id INTEGER NOT NULL REFERENCES restaurant (restaurant_id),
    courier_id INTEGER REFERENCES courier (courier_id),
    placed_at TIMESTAMP NOT NULL,
    delivered_at TIMESTAMP,
    status TEXT NOT NULL,
    items_total REAL NOT NULL,
    tip REAL NOT NULL,
    distance_km REAL NOT NULL
);

CREATE TABLE order_line (
    order_id INTEGER NOT NULL REFERENCES delivery_order (order_id),
    menu_item_id INTEGER NOT NULL REFERENCES menu_item (menu_item_id),
    quantity INTEGER NOT NULL CHECK (quantity > 0),
    line_amount REAL NOT NULL,
    PRIMARY KEY (order_id, menu_item_id)
);

CREATE TABLE rating (
    order_id INTEGER PRIMARY KEY REFERENCES delivery_order (order_id),
    food_score INTEGER NOT NULL CHECK (food_score BETWEEN 1 AND 5),
    courier_score INTEGER CHECK (courier_score BETWEEN 1 AND 5),
    comment TEXT,
    rated_at TIMESTAMP NOT NULL
);
